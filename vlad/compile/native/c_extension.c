/* Python's calls of machine code: from floats and arrays to words, and back to objects. fast_call.py does the same in Python, where this
   cannot be compiled. What ends soon (fast_call.py says when) holds Python's lock (GIL), and between the first word that is written
   and the last one that is read no object is made that Python's collector looks after: nobody else gets at the words meanwhile.
   What may take longer takes a lock of its own, and leaves Python's to others while it runs. */

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <Python.h>
#include <structmember.h>
#include <numpy/arrayobject.h>

#ifdef Py_GIL_DISABLED
#error "there is no lock that would keep the words together"
#endif

union word { double d; long i; void *p; };

enum { CONSTANT, REAL, TENSOR };      /* what a part is, of the operands or of the answer */
enum { ALONE, LIST, TUPLE, LEAVES };  /* what parts of the answer make: the only one itself, a list, (a, (b, c)), a flat tuple */

struct part {
  int kind, rank;
  PyObject *object;    /* a constant, which among the operands is a float, or a tensor's dtype */
  npy_intp *shape;
  npy_intp bytes;
  Py_ssize_t number;   /* of its word among the answers, */
  Py_ssize_t target;   /* and of the word that says where its entries are to be written; -1: nowhere */
};

/* A compiled procedure. Called with the tuple of the arguments it answers the tuple of the answer's parts, or NotImplemented. */
typedef struct {
  PyObject_VAR_HEAD
  int (*call)(union word const *, union word *);
  long (*rest)(void);  /* hands back the memory that a call works in, when its answer has been read; NULL where there is none */
  union word *words, *answers;
  PyObject *kept;      /* what the addresses belong to */
  PyObject *busy;      /* a list that is not empty while a call is under way */
  PyObject *acquire, *release; /* of the lock for what may take longer; NULL for what ends soon */
  PyObject *interruptible;     /* native_interrupts.py's class */
  PyObject *stop;              /* what ends a call, in whatever thread it is called; NULL where nothing does, */
  int volatile *stopped;       /* and what it sets */
  int form;
  Py_ssize_t operands; /* of the parts; the others are the answer's */
  struct part parts[];
} Call;

static PyTypeObject Call_Type;

static Py_ssize_t results_of(Call const *call) { return Py_SIZE(call) - call->operands; }

/* Is it a real, as convert.py has it? Classes of Python's may say in a method of theirs which one; NumPy's are none. */
static int as_real(PyObject *x, double *real) {
  if (PyFloat_CheckExact(x) || (PyFloat_Check(x) && !PyType_HasFeature(Py_TYPE(x), Py_TPFLAGS_HEAPTYPE))) {
    *real = PyFloat_AS_DOUBLE(x);
    return 1;
  }
  if (!PyLong_CheckExact(x)) return 0;
  *real = PyLong_AsDouble(x);
  if (*real != -1.0 || !PyErr_Occurred()) return 1;
  PyErr_Clear(); /* one beyond all reals: the usual way tells of it */
  return 0;
}

/* Is it an array of a tensor's shape and dtype, whose entries lie side by side in their order? */
static int is_of(PyObject *x, struct part const *part) {
  if (Py_TYPE(x) != &PyArray_Type) return 0;
  PyArrayObject *array = (PyArrayObject *)x;
  return (PyObject *)PyArray_DESCR(array) == part->object && PyArray_NDIM(array) == part->rank &&
         PyArray_CompareLists(PyArray_DIMS(array), part->shape, part->rank) && PyArray_IS_C_CONTIGUOUS(array) &&
         PyArray_ISALIGNED(array);
}

static int put_operands(Call *call, PyObject *const *arguments) {
  union word *word = call->words;
  double real;
  for (Py_ssize_t i = 0; i < call->operands; i++) {
    struct part const *part = &call->parts[i];
    if (part->kind == REAL) {
      if (!as_real(arguments[i], &word++->d)) return 0;
    } else if (part->kind == CONSTANT) { /* it has no word; another one is for other machine code */
      if (!as_real(arguments[i], &real) || real != PyFloat_AS_DOUBLE(part->object)) return 0;
    } else {
      if (!is_of(arguments[i], part)) return 0;
      word++->p = PyArray_DATA((PyArrayObject *)arguments[i]);
    }
  }
  return 1;
}

static void give_up(PyObject **leaves, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++) Py_XDECREF(leaves[i]);
}

/* The arrays of the answer, into some of which the call writes itself. */
static int put_arrays(Call *call, PyObject **leaves) {
  for (Py_ssize_t i = 0; i < results_of(call); i++) {
    struct part const *part = &call->parts[call->operands + i];
    leaves[i] = NULL;
    if (part->kind != TENSOR) continue;
    Py_INCREF(part->object);
    leaves[i] = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)part->object, part->rank, part->shape, NULL, NULL, 0, NULL);
    if (!leaves[i]) {
      give_up(leaves, i);
      return 0;
    }
    if (part->target >= 0) call->words[part->target].p = PyArray_DATA((PyArrayObject *)leaves[i]);
  }
  return 1;
}

static int take_leaves(Call *call, PyObject **leaves) {
  for (Py_ssize_t i = 0; i < results_of(call); i++) {
    struct part const *part = &call->parts[call->operands + i];
    if (part->kind == TENSOR) {
      PyArrayObject *array = (PyArrayObject *)leaves[i];
      if (part->target < 0) memcpy(PyArray_DATA(array), call->answers[part->number].p, part->bytes);
      PyArray_CLEARFLAGS(array, NPY_ARRAY_WRITEABLE);
    } else {
      leaves[i] = part->kind == REAL ? PyFloat_FromDouble(call->answers[part->number].d) : Py_NewRef(part->object);
    }
    if (!leaves[i]) {
      give_up(leaves, results_of(call));
      return 0;
    }
  }
  return 1;
}

/* What leaves, whose references it takes over, make. */
static PyObject *formed(int form, PyObject **leaves, Py_ssize_t count) {
  PyObject *whole = NULL;
  if (form == ALONE) return leaves[0];
  if (form == TUPLE) {
    whole = leaves[--count];
    while (whole && count > 0) {
      PyObject *pair = PyTuple_New(2);
      if (!pair) {
        Py_CLEAR(whole);
        break;
      }
      PyTuple_SET_ITEM(pair, 0, leaves[--count]);
      PyTuple_SET_ITEM(pair, 1, whole);
      whole = pair;
    }
    if (!whole) give_up(leaves, count);
    return whole;
  }
  whole = form == LIST ? PyList_New(count) : PyTuple_New(count);
  if (!whole) {
    give_up(leaves, count);
    return NULL;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    if (form == LIST) PyList_SET_ITEM(whole, i, leaves[i]);
    else PyTuple_SET_ITEM(whole, i, leaves[i]);
  }
  return whole;
}

/* The call, while others have Python's lock. */
static int call_beside(Call *call) {
  int status;
  Py_BEGIN_ALLOW_THREADS
  status = call->call(call->words, call->answers);
  Py_END_ALLOW_THREADS
  return status;
}

enum { USUAL_WAY = -1, RAISED = -2 }; /* where there is no status */

/* The same where Ctrl-C has to end it, as native_interrupts.py's Interruptible does, which has to be open. */
static int call_interruptibly(Call *call) {
  static PyObject *names[4];
  static char const *const texts[] = {"_main", "_writer", "_stops", "_wake"};
  PyObject *found[4] = {NULL, NULL, NULL, NULL}, *before, *after, *pair, *kind, *error, *traceback;
  int status = RAISED;
  for (int i = 0; i < 4; i++) {
    if (!names[i] && !(names[i] = PyUnicode_InternFromString(texts[i]))) goto end;
    if (!(found[i] = PyObject_GetAttr(call->interruptible, names[i]))) goto end;
  }
  *call->stopped = 0;
  if (PyLong_AsUnsignedLong(found[0]) != PyThread_get_thread_ident()) {
    status = call_beside(call); /* Python tells only its main thread of signals */
  } else if (found[1] == Py_None) {
    status = USUAL_WAY;
  } else if ((before = PyObject_CallOneArg(found[3], found[1]))) {
    pair = PyTuple_Pack(2, call->stop, before);
    int is_told = pair && PyList_Append(found[2], pair) == 0;
    /* who was interrupted before it was heard is told now */
    if (is_told && PyErr_CheckSignals() == 0) status = call_beside(call);
    PyErr_Fetch(&kind, &error, &traceback);
    if (is_told && PySequence_DelItem(found[2], -1) < 0) PyErr_Clear();
    if (!(after = PyObject_CallOneArg(found[3], before))) PyErr_Clear();
    PyErr_Restore(kind, error, traceback);
    Py_XDECREF(pair);
    Py_XDECREF(after);
    Py_DECREF(before);
  }
end:
  for (int i = 0; i < 4; i++) Py_XDECREF(found[i]);
  return status;
}

static int status_of(Call *call) {
  if (!call->acquire) return call->call(call->words, call->answers);
  return call->stop ? call_interruptibly(call) : call_beside(call);
}

/* The answer in a form; NotImplemented where the arguments are others, or the usual way has to tell what is the matter. */
static PyObject *called_now(Call *call, PyObject *const *arguments, int form) {
  Py_ssize_t results = results_of(call);
  if (!put_operands(call, arguments)) Py_RETURN_NOTIMPLEMENTED;
  PyObject *leaves[results];
  if (!put_arrays(call, leaves)) return NULL;
  int status = status_of(call);
  for (Py_ssize_t i = call->operands; i < Py_SIZE(call); i++)
    if (call->parts[i].target >= 0) call->words[call->parts[i].target].p = NULL;
  if (status) {
    if (call->rest) call->rest();
    give_up(leaves, results);
    if (status == RAISED) return NULL;
    Py_RETURN_NOTIMPLEMENTED;
  }
  int is_taken = take_leaves(call, leaves);
  if (call->rest) call->rest();
  return is_taken ? formed(form, leaves, results) : NULL;
}

/* The same in the time of a call that takes longer, so that nobody else gets at the words: other threads wait, and what comes in
   between in this one, such as a finalizer or a signal's handler, takes the usual way. */
static PyObject *called_in_turn(Call *call, PyObject *const *arguments, int form) {
  PyObject *answer = NULL, *kind, *error, *traceback, *taken = PyObject_CallNoArgs(call->acquire);
  if (!taken) return NULL; /* interrupted */
  Py_DECREF(taken);
  int is_first = !PyList_GET_SIZE(call->busy);
  if (!is_first) answer = Py_NewRef(Py_NotImplemented);
  else if (PyList_Append(call->busy, call->acquire) == 0) answer = called_now(call, arguments, form);
  PyErr_Fetch(&kind, &error, &traceback);
  if (is_first && PyList_SetSlice(call->busy, 0, PY_SSIZE_T_MAX, NULL) < 0) Py_CLEAR(answer);
  PyObject *given = PyObject_CallNoArgs(call->release);
  if (!given) Py_CLEAR(answer);
  else Py_DECREF(given);
  if (kind) PyErr_Restore(kind, error, traceback);
  return answer;
}

static PyObject *called(Call *call, PyObject *const *arguments, Py_ssize_t count, int form) {
  if (count != call->operands) Py_RETURN_NOTIMPLEMENTED;
  if (call->acquire) return called_in_turn(call, arguments, form);
  if (PyList_GET_SIZE(call->busy)) Py_RETURN_NOTIMPLEMENTED;
  return called_now(call, arguments, form);
}

static PyObject *call_leaves(PyObject *self, PyObject *arguments, PyObject *names) {
  PyObject *packed;
  if (names && PyDict_GET_SIZE(names)) return PyErr_Format(PyExc_TypeError, "arguments have no names here");
  if (!PyArg_ParseTuple(arguments, "O!", &PyTuple_Type, &packed)) return NULL;
  return called((Call *)self, ((PyTupleObject *)packed)->ob_item, PyTuple_GET_SIZE(packed), LEAVES);
}

static void call_freed(PyObject *self) {
  Call *call = (Call *)self;
  for (Py_ssize_t i = 0; i < Py_SIZE(call); i++) {
    Py_XDECREF(call->parts[i].object);
    PyMem_Free(call->parts[i].shape);
  }
  Py_XDECREF(call->kept);
  Py_XDECREF(call->busy);
  Py_XDECREF(call->acquire);
  Py_XDECREF(call->release);
  Py_XDECREF(call->interruptible);
  Py_XDECREF(call->stop);
  Py_TYPE(self)->tp_free(self);
}

static PyTypeObject Call_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "vlad.compile.native.c_extension.Call",
    .tp_basicsize = offsetof(Call, parts),
    .tp_itemsize = sizeof(struct part),
    .tp_dealloc = call_freed,
    .tp_call = call_leaves,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

/* A part from (kind, constant or dtype, shape, number, target). */
static int read_part(PyObject *from, struct part *part) {
  PyObject *shape, *object;
  if (!PyArg_ParseTuple(from, "iOO!nn", &part->kind, &object, &PyTuple_Type, &shape, &part->number, &part->target)) return 0;
  part->object = Py_NewRef(object);
  part->rank = (int)PyTuple_GET_SIZE(shape);
  part->shape = PyMem_Calloc(part->rank + 1, sizeof(npy_intp));
  if (!part->shape) return PyErr_NoMemory() != NULL;
  if (part->kind != TENSOR) return 1;
  if (!PyArray_API && _import_array() < 0) return 0;
  if (!PyArray_DescrCheck(object)) return PyErr_Format(PyExc_TypeError, "a tensor has a dtype") != NULL;
  part->bytes = PyDataType_ELSIZE((PyArray_Descr *)object);
  for (int i = 0; i < part->rank; i++) {
    part->shape[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
    part->bytes *= part->shape[i];
  }
  return !PyErr_Occurred();
}

/* A call from (address, rest, words, answers, busy, form, operands, the answer's parts, kept, in turn); addresses are numbers. `in turn`:
   () for what ends soon; else how its lock is taken and given back, what ends it (or None), the address of what that sets, and
   native_interrupts.py's class. */
static PyObject *new_call(PyObject *unused, PyObject *from) {
  unsigned long long address, rest, words, answers, stopped = 0;
  PyObject *busy, *operands, *results, *kept, *turn, *acquire = NULL, *release = NULL, *stop = Py_None, *interruptible = NULL;
  int form;
  if (!PyArg_ParseTuple(from, "KKKKO!iO!O!OO!", &address, &rest, &words, &answers, &PyList_Type, &busy, &form, &PyTuple_Type, &operands,
                        &PyTuple_Type, &results, &kept, &PyTuple_Type, &turn) ||
      (PyTuple_GET_SIZE(turn) && !PyArg_ParseTuple(turn, "OOOKO", &acquire, &release, &stop, &stopped, &interruptible)))
    return NULL;
  Py_ssize_t count = PyTuple_GET_SIZE(operands), all = count + PyTuple_GET_SIZE(results);
  Call *call = (Call *)Call_Type.tp_alloc(&Call_Type, all);
  if (!call) return NULL;
  call->call = (int (*)(union word const *, union word *))(uintptr_t)address;
  call->rest = (long (*)(void))(uintptr_t)rest;
  call->words = (union word *)(uintptr_t)words;
  call->answers = (union word *)(uintptr_t)answers;
  call->kept = Py_NewRef(kept);
  call->busy = Py_NewRef(busy);
  call->acquire = Py_XNewRef(acquire);
  call->release = Py_XNewRef(release);
  call->interruptible = Py_XNewRef(interruptible);
  call->stop = stop == Py_None ? NULL : Py_NewRef(stop);
  call->stopped = (int volatile *)(uintptr_t)stopped;
  call->form = form;
  call->operands = count;
  for (Py_ssize_t i = 0; i < all; i++) {
    PyObject *part = i < count ? PyTuple_GET_ITEM(operands, i) : PyTuple_GET_ITEM(results, i - count);
    if (!read_part(part, &call->parts[i])) {
      Py_DECREF(call);
      return NULL;
    }
  }
  return (PyObject *)call;
}

/* Python's procedures (convert.Procedure), whose attribute `quicks` is a sequence of (leaves, shape), as quick.Quick. */

static Py_ssize_t quicks_at;

/* An answer from leaves, which it takes over: by `_shaped` of procedures that reshape; NotImplemented where they do not tell. */
static PyObject *reshaped(PyObject *self, PyObject *leaves) {
  static PyObject *name;
  if (!name && !(name = PyUnicode_InternFromString("_shaped"))) return NULL;
  PyObject *answer = leaves && leaves != Py_NotImplemented ? PyObject_CallMethodOneArg(self, name, leaves) : Py_XNewRef(leaves);
  Py_XDECREF(leaves);
  return answer;
}

static PyObject *by_quick(PyObject *self, PyObject *quick, PyObject *const *arguments, Py_ssize_t count, int reshapes) {
  PyObject *leaves = PyTuple_GET_ITEM(quick, 0);
  if (Py_TYPE(leaves) == &Call_Type) {
    Call *call = (Call *)leaves;
    return reshapes ? reshaped(self, called(call, arguments, count, LEAVES)) : called(call, arguments, count, call->form);
  }
  PyObject *packed = PyTuple_New(count);
  if (!packed) return NULL;
  for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(packed, i, Py_NewRef(arguments[i]));
  PyObject *found = PyObject_CallOneArg(leaves, packed);
  Py_DECREF(packed);
  if (reshapes || !found || found == Py_NotImplemented) return reshapes ? reshaped(self, found) : found;
  PyObject *answer = PyObject_CallOneArg(PyTuple_GET_ITEM(quick, 1), found);
  Py_DECREF(found);
  return answer;
}

static PyObject *by_quicks(PyObject *self, PyObject *quicks, PyObject *const *arguments, Py_ssize_t count, int reshapes) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(quicks); i++) {
    PyObject *quick = Py_NewRef(PySequence_Fast_GET_ITEM(quicks, i)); /* the list may change meanwhile */
    PyObject *answer = by_quick(self, quick, arguments, count, reshapes);
    Py_DECREF(quick);
    if (answer != Py_NotImplemented) return answer;
    Py_DECREF(answer);
  }
  Py_RETURN_NOTIMPLEMENTED;
}

/* A method of the procedure's, for what is not done here. */
static PyObject *call_method(PyObject *self, const char *name, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
  PyObject *method = PyObject_GetAttrString(self, name);
  if (!method) return NULL;
  PyObject *answer = PyObject_Vectorcall(method, arguments, count, names);
  Py_DECREF(method);
  return answer;
}

static PyObject *call_procedure(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names, int reshapes) {
  if (names && PyTuple_GET_SIZE(names)) return call_method(self, "_by_name", arguments, count, names);
  PyObject *quicks = *(PyObject **)((char *)self + quicks_at);
  if (quicks && (PyList_Check(quicks) || PyTuple_Check(quicks))) {
    Py_INCREF(quicks); /* the procedure may get another one meanwhile */
    PyObject *answer = by_quicks(self, quicks, arguments, count, reshapes);
    Py_DECREF(quicks);
    if (answer != Py_NotImplemented) return answer;
    Py_DECREF(answer);
  }
  return call_method(self, "_otherwise", arguments, count, NULL);
}

static PyObject *call_plain(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
  return call_procedure(self, arguments, count, names, 0);
}

static PyObject *call_reshaping(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
  return call_procedure(self, arguments, count, names, 1);
}

#define NAMED (METH_FASTCALL | METH_KEYWORDS)
static PyMethodDef plain = {"__call__", (PyCFunction)(void (*)(void))call_plain, NAMED, NULL};
static PyMethodDef reshaping = {"__call__", (PyCFunction)(void (*)(void))call_reshaping, NAMED, NULL};

/* The method `__call__` for a class of procedures, from (class, the descriptor of its `quicks`, does it reshape?). */
static PyObject *new_method(PyObject *unused, PyObject *from) {
  PyObject *kind, *slot;
  int reshapes;
  if (!PyArg_ParseTuple(from, "O!O!p", &PyType_Type, &kind, &PyMemberDescr_Type, &slot, &reshapes)) return NULL;
  quicks_at = ((PyMemberDescrObject *)slot)->d_member->offset;
  return PyDescr_NewMethod((PyTypeObject *)kind, reshapes ? &reshaping : &plain);
}

static PyMethodDef functions[] = {
    {"call", new_call, METH_VARARGS, NULL}, {"method", new_method, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "vlad.compile.native.c_extension", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyObject *vlad_border(void) { return PyType_Ready(&Call_Type) < 0 ? NULL : PyModule_Create(&module); }
