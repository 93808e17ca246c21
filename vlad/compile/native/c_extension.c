/* Python's calls of machine code: from floats and arrays, and lists, tuples and dataclasses of them, to words, and back to objects.
   fast_call.py does the same in Python for floats and arrays, where this cannot be compiled. Short calls (fast_call.py decides which are)
   hold Python's lock (GIL), and create no object that Python's collector tracks between the first word that is written and the last one
   that is read: no other code accesses the words meanwhile. Longer calls take a separate lock, and release the GIL while they run. */

#pragma GCC optimize("align-functions=64") /* the time of a short call varies by its places in cache lines */
#define NDEBUG /* for the headers of Python */
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

enum { CONSTANT, REAL, TENSOR, LENGTH }; /* kinds of parts, of the operands or of the result */
enum { LEAST = 2 };               /* length that an axis of unknown length has */
enum { PAIR, EMPTY, LEAF };       /* structures in preorder: a pair, followed by its halves; the empty list; a part */

struct part {
  int kind, rank;
  PyObject *object;    /* a constant (a float for an operand), or a tensor's dtype */
  npy_intp *shape;     /* -1 - n for the length with the number n, which is known only in a call; for a length that itself */
  npy_intp *measured;  /* room for the shape in a call */
  npy_intp bytes;      /* of the entries of a tensor of known shape */
  Py_ssize_t number;   /* of its word among the results, */
  Py_ssize_t target;   /* and of the word with the address at which to write its entries; -1: none */
};

/* A compiled procedure. Called with the tuple of the arguments, it returns the tuple of the result's parts, or NotImplemented. */
typedef struct {
  PyObject_VAR_HEAD
  int (*call)(union word const *, union word *);
  long (*rest)(void);  /* frees the working memory of a call, after its result has been read; NULL if it needs none */
  union word *words, *results;
  PyObject *kept;      /* the owners of the addresses */
  PyObject *busy;      /* a list that is not empty during a call */
  PyObject *acquire, *release; /* methods of the lock for longer calls; NULL for short ones */
  PyObject *interruptible;     /* the class of native_interrupts.py */
  PyObject *stop;              /* a function that ends the call, from any thread; NULL if there is none, */
  int volatile *stopped;       /* and the variable that it sets */
  PyObject *given, *form;      /* the structures of the arguments and of the result: bytes */
  int is_flat, is_row;         /* may each argument be a part? is the result a part, or a list or a tuple of parts? */
  int (*measure)(long const *, long *); /* from the sizes of a call to all lengths; returns UNSERVED …; NULL if all are known */
  Py_ssize_t sizes;    /* the number of lengths that axes of operands determine; they come first */
  long *lengths;       /* in this call */
  Py_ssize_t operands; /* the number of parts that are operands; the others are those of the result */
  struct part parts[];
} Call;

static PyTypeObject Call_Type;

static Py_ssize_t results_of(Call const *call) { return Py_SIZE(call) - call->operands; }

/* Is it a real, as in convert.py? Subclasses of float are excluded if defined in Python, since they may override the conversion; NumPy's
   float64 is included. */
static int as_real(PyObject *x, double *real) {
  if (PyFloat_CheckExact(x) || (PyFloat_Check(x) && !PyType_HasFeature(Py_TYPE(x), Py_TPFLAGS_HEAPTYPE))) {
    *real = PyFloat_AS_DOUBLE(x);
    return 1;
  }
  if (!PyLong_CheckExact(x)) return 0;
  *real = PyLong_AsDouble(x);
  if (*real != -1.0 || !PyErr_Occurred()) return 1;
  PyErr_Clear(); /* too large for a real: the general path raises the error */
  return 0;
}

/* The shape of a tensor in this call. */
static inline npy_intp const *shape_of(Call const *call, struct part const *part) {
  if (!call->measure) return part->shape;
  for (int axis = 0; axis < part->rank; axis++)
    part->measured[axis] = part->shape[axis] < 0 ? call->lengths[-1 - part->shape[axis]] : part->shape[axis];
  return part->measured;
}

/* Is it an array of a dtype and rank, with contiguous entries in C order? */
static inline int is_like(PyObject *x, struct part const *part) {
  if (Py_TYPE(x) != &PyArray_Type) return 0;
  PyArrayObject *array = (PyArrayObject *)x;
  return (PyObject *)PyArray_DESCR(array) == part->object && PyArray_NDIM(array) == part->rank && PyArray_IS_C_CONTIGUOUS(array) &&
         PyArray_ISALIGNED(array);
}

/* Is it such an array of a tensor's shape? */
static inline int is_of(Call const *call, PyObject *x, struct part const *part) {
  if (!is_like(x, part)) return 0;
  npy_intp const *found = PyArray_DIMS((PyArrayObject *)x), *shape = shape_of(call, part);
  for (int axis = 0; axis < part->rank; axis++)
    if (found[axis] != shape[axis]) return 0;
  return 1;
}

/* A number as a length; 0 if it is none. */
static long as_length(PyObject *x) {
  double real;
  if (!as_real(x, &real) || !(LEAST <= real && real < 1L << 31)) return 0;
  return real == (long)real ? (long)real : 0;
}

enum { UNSERVED, SHORT_CALL, LONG_CALL };

/* Finds the lengths in this call, if not all are known. Whether operands have these lengths is not tested. */
static int measure(Call *call, PyObject *const *arguments) {
  for (Py_ssize_t i = 0; i < call->sizes; i++) call->lengths[i] = 0;
  for (Py_ssize_t i = 0; i < call->operands; i++) {
    struct part const *part = &call->parts[i];
    if (part->kind == LENGTH && -1 - part->shape[0] < call->sizes) call->lengths[-1 - part->shape[0]] = as_length(arguments[i]);
    if (part->kind != TENSOR) continue;
    if (!is_like(arguments[i], part)) return UNSERVED;
    for (int axis = 0; axis < part->rank; axis++) {
      npy_intp number = -1 - part->shape[axis];
      if (0 <= number && number < call->sizes) call->lengths[number] = PyArray_DIM((PyArrayObject *)arguments[i], axis);
    }
  }
  for (Py_ssize_t i = 0; i < call->sizes; i++)
    if (call->lengths[i] < LEAST) return UNSERVED;
  return call->measure(call->lengths, call->lengths);
}

static PyObject *fields; /* a function from a dataclass to the tuple of its fields, and from other objects to None */

/* The parts within arguments, in the order of the structure, with new references. `depth` is that of tuples and lists. `only_lists`: a
   translated Python function distinguishes lists from tuples and records, whose ends and beginnings have symbols. */
struct parts {
  char const *at, *end;
  PyObject **found;
  int depth, only_lists;
};
enum { MOST_DEPTH = 200 };

/* 1 if they are of the structure, 0 if not, -1 if an exception was raised. */
static int add_parts(struct parts *parts, PyObject *x);

/* Those of what is left of a list, from an index, or of arguments: by the tuple rule a pair of the first one and the others, or the only
   one itself. The list may change meanwhile: to read the fields of a dataclass may execute Python code. */
static int add_parts_of_rest(struct parts *parts, PyObject *list, PyObject *const *items, Py_ssize_t count) {
  for (Py_ssize_t i = 0;; i++) {
    if (list) count = PyList_GET_SIZE(list);
    if (!list && i == count - 1) return add_parts(parts, items[i]);
    if (parts->at == parts->end) return 0;
    char kind = *parts->at++;
    if (kind != PAIR) return kind == EMPTY && i == count;
    if (i >= count) return 0;
    int is_added = add_parts(parts, list ? PyList_GET_ITEM(list, i) : items[i]);
    if (is_added != 1) return is_added;
  }
}

static int add_parts(struct parts *parts, PyObject *x) {
  PyTypeObject *kind = Py_TYPE(x);
  int is_added = 0;
  if (parts->depth++ == MOST_DEPTH) return 0;
  Py_INCREF(x);
  if (PyFloat_Check(x) || PyLong_Check(x) || (PyArray_API && kind == &PyArray_Type)) {
    if (parts->at < parts->end && *parts->at++ == LEAF) *parts->found++ = Py_NewRef(x), is_added = 1;
  } else if (PyList_Check(x) && kind->tp_iter == PyList_Type.tp_iter) {
    is_added = add_parts_of_rest(parts, x, NULL, 0);
  } else if (parts->only_lists) {
    is_added = 0;
  } else if (PyTuple_Check(x) && kind->tp_iter == PyTuple_Type.tp_iter) {
    is_added = add_parts_of_rest(parts, NULL, ((PyTupleObject *)x)->ob_item, PyTuple_GET_SIZE(x));
  } else {
    PyObject *values = PyObject_CallOneArg(fields, x);
    if (!values) is_added = -1;
    else if (PyTuple_CheckExact(values))
      is_added = add_parts_of_rest(parts, NULL, ((PyTupleObject *)values)->ob_item, PyTuple_GET_SIZE(values));
    Py_XDECREF(values);
  }
  Py_DECREF(x);
  parts->depth--;
  return is_added;
}

static int put_operands(Call *call, PyObject *const *arguments) {
  union word *word = call->words;
  double real;
  if (call->measure && !measure(call, arguments)) return 0;
  for (Py_ssize_t i = 0; i < call->operands; i++) {
    struct part const *part = &call->parts[i];
    if (part->kind == REAL) {
      if (!as_real(arguments[i], &word++->d)) return 0;
    } else if (part->kind == CONSTANT) { /* it has no word; other values need other machine code */
      if (!as_real(arguments[i], &real) || real != PyFloat_AS_DOUBLE(part->object)) return 0;
    } else if (part->kind == LENGTH) {
      if (as_length(arguments[i]) != call->lengths[-1 - part->shape[0]]) return 0;
    } else {
      if (!is_of(call, arguments[i], part)) return 0;
      word++->p = PyArray_DATA((PyArrayObject *)arguments[i]);
    }
  }
  return 1;
}

static void release_all(PyObject **leaves, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++) Py_XDECREF(leaves[i]);
}

/* The arrays of the result; the call itself writes into some of them. */
static int put_arrays(Call *call, PyObject **leaves) {
  for (Py_ssize_t i = 0; i < results_of(call); i++) {
    struct part const *part = &call->parts[call->operands + i];
    leaves[i] = NULL;
    if (part->kind != TENSOR) continue;
    Py_INCREF(part->object);
    PyArray_Descr *kind = (PyArray_Descr *)part->object;
    leaves[i] = PyArray_NewFromDescr(&PyArray_Type, kind, part->rank, shape_of(call, part), NULL, NULL, 0, NULL);
    if (!leaves[i]) {
      release_all(leaves, i);
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
      npy_intp bytes = call->measure ? PyArray_NBYTES(array) : part->bytes;
      if (part->target < 0) memcpy(PyArray_DATA(array), call->results[part->number].p, bytes);
      PyArray_CLEARFLAGS(array, NPY_ARRAY_WRITEABLE);
    } else {
      leaves[i] = part->kind == REAL     ? PyFloat_FromDouble(call->results[part->number].d)
                  : part->kind == LENGTH ? PyFloat_FromDouble((double)call->lengths[-1 - part->shape[0]])
                                         : Py_NewRef(part->object);
    }
    if (!leaves[i]) {
      release_all(leaves, results_of(call));
      return 0;
    }
  }
  return 1;
}

/* A value of a structure, from its parts: a list, or nested tuples of two. Both are advanced. */
static PyObject *built(char const **at, PyObject ***leaves) {
  if (**at == LEAF) return (*at)++, Py_NewRef(*(*leaves)++);
  PyObject *list = PyList_New(0);
  while (list && **at == PAIR) {
    (*at)++;
    PyObject *part = built(at, leaves);
    if (!part || PyList_Append(list, part) < 0) Py_CLEAR(list);
    Py_XDECREF(part);
  }
  if (!list) return NULL;
  if (**at == EMPTY) return (*at)++, list;
  PyObject *whole = built(at, leaves);
  for (Py_ssize_t i = PyList_GET_SIZE(list); whole && i > 0; i--)
    Py_SETREF(whole, PyTuple_Pack(2, PyList_GET_ITEM(list, i - 1), whole));
  Py_DECREF(list);
  return whole;
}

/* The result, or the tuple of its parts; steals references to these. */
static PyObject *formed(Call *call, int is_whole, PyObject **leaves) {
  Py_ssize_t count = results_of(call);
  PyObject *whole;
  if (is_whole) {
    char const *at = PyBytes_AS_STRING(call->form);
    if (*at == LEAF) return leaves[0];
    PyObject **next = leaves;
    whole = built(&at, &next);
  } else if ((whole = PyTuple_New(count))) {
    for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(whole, i, Py_NewRef(leaves[i]));
  }
  release_all(leaves, count);
  return whole;
}

/* The call, with the GIL released. */
static int call_without_gil(Call *call) {
  int status;
  Py_BEGIN_ALLOW_THREADS
  status = call->call(call->words, call->results);
  Py_END_ALLOW_THREADS
  return status;
}

enum { GENERAL_PATH = -1, RAISED = -2 }; /* if there is no status */

/* The same, in a call that Ctrl-C ends, as Interruptible in native_interrupts.py does, whose pipe has to be open. */
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
    status = call_without_gil(call); /* Python delivers signals only to its main thread */
  } else if (found[1] == Py_None) {
    status = GENERAL_PATH;
  } else if ((before = PyObject_CallOneArg(found[3], found[1]))) {
    pair = PyTuple_Pack(2, call->stop, before);
    int is_registered = pair && PyList_Append(found[2], pair) == 0;
    /* handles a signal that arrived before the call was registered */
    if (is_registered && PyErr_CheckSignals() == 0) status = call_without_gil(call);
    PyErr_Fetch(&kind, &error, &traceback);
    if (is_registered && PySequence_DelItem(found[2], -1) < 0) PyErr_Clear();
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

static int status_of(Call *call, int is_short) {
  if (is_short) {
    if (call->stopped) *call->stopped = 0;
    return call->call(call->words, call->results);
  }
  return call->stop ? call_interruptibly(call) : call_without_gil(call);
}

/* The result, or the tuple of its parts; NotImplemented if the arguments are others, or the general path has to raise an error. */
static PyObject *called_now(Call *call, PyObject *const *arguments, int is_whole, int is_short) {
  Py_ssize_t results = results_of(call);
  if (!put_operands(call, arguments)) Py_RETURN_NOTIMPLEMENTED;
  PyObject *leaves[results];
  if (!put_arrays(call, leaves)) return NULL;
  int status = status_of(call, is_short);
  for (Py_ssize_t i = call->operands; i < Py_SIZE(call); i++)
    if (call->parts[i].target >= 0) call->words[call->parts[i].target].p = NULL;
  if (status) {
    if (call->rest) call->rest();
    release_all(leaves, results);
    if (status == RAISED) return NULL;
    Py_RETURN_NOTIMPLEMENTED;
  }
  int is_taken = take_leaves(call, leaves);
  if (call->rest) call->rest();
  return is_taken ? formed(call, is_whole, leaves) : NULL;
}

/* The same for a longer call, under its lock, so that no other code accesses the words: other threads wait, and code that runs in this
   thread meanwhile, such as a finalizer or a signal handler, takes the general path. */
static PyObject *called_in_turn(Call *call, PyObject *const *arguments, int is_whole) {
  PyObject *result = NULL, *kind, *error, *traceback, *taken = PyObject_CallNoArgs(call->acquire);
  if (!taken) return NULL; /* interrupted */
  Py_DECREF(taken);
  int is_first = !PyList_GET_SIZE(call->busy);
  if (!is_first) result = Py_NewRef(Py_NotImplemented);
  else if (PyList_Append(call->busy, call->acquire) == 0) result = called_now(call, arguments, is_whole, 0);
  PyErr_Fetch(&kind, &error, &traceback);
  if (is_first && PyList_SetSlice(call->busy, 0, PY_SSIZE_T_MAX, NULL) < 0) Py_CLEAR(result);
  PyObject *given = PyObject_CallNoArgs(call->release);
  if (!given) Py_CLEAR(result);
  else Py_DECREF(given);
  if (kind) PyErr_Restore(kind, error, traceback);
  return result;
}

static PyObject *called_with_parts(Call *call, PyObject *const *parts, int is_whole) {
  int is_short = !call->acquire;
  if (call->measure && !PyList_GET_SIZE(call->busy)) {
    int kind = measure(call, parts);
    if (kind == UNSERVED) Py_RETURN_NOTIMPLEMENTED;
    is_short = kind == SHORT_CALL;
  }
  if (!is_short) return called_in_turn(call, parts, is_whole);
  if (PyList_GET_SIZE(call->busy)) Py_RETURN_NOTIMPLEMENTED;
  return called_now(call, parts, is_whole, 1);
}

/* Is each argument a part? */
static int is_direct(Call *call, Py_ssize_t count) { return call->is_flat && count == call->operands; }

static PyObject *called(Call *call, PyObject *const *arguments, Py_ssize_t count, int is_whole, int only_lists) {
  if (is_direct(call, count)) return called_with_parts(call, arguments, is_whole);
  PyObject *found[call->operands + 1];
  char const *at = PyBytes_AS_STRING(call->given);
  struct parts parts = {at, at + PyBytes_GET_SIZE(call->given), found, 0, only_lists};
  int is_added = add_parts_of_rest(&parts, NULL, arguments, count);
  PyObject *result = NULL;
  if (is_added == 1 && parts.at == parts.end) result = called_with_parts(call, found, is_whole);
  else if (is_added != -1) result = Py_NewRef(Py_NotImplemented);
  release_all(found, parts.found - found);
  return result;
}

static PyObject *call_leaves(PyObject *self, PyObject *arguments, PyObject *names) {
  PyObject *packed;
  if (names && PyDict_GET_SIZE(names)) return PyErr_Format(PyExc_TypeError, "arguments have no names here");
  if (!PyArg_ParseTuple(arguments, "O!", &PyTuple_Type, &packed)) return NULL;
  Call *call = (Call *)self;
  if (!is_direct(call, PyTuple_GET_SIZE(packed))) Py_RETURN_NOTIMPLEMENTED;
  return called(call, ((PyTupleObject *)packed)->ob_item, PyTuple_GET_SIZE(packed), 0, 0);
}

static void call_freed(PyObject *self) {
  Call *call = (Call *)self;
  for (Py_ssize_t i = 0; i < Py_SIZE(call); i++) {
    Py_XDECREF(call->parts[i].object);
    PyMem_Free(call->parts[i].shape);
  }
  PyMem_Free(call->lengths);
  Py_XDECREF(call->kept);
  Py_XDECREF(call->busy);
  Py_XDECREF(call->acquire);
  Py_XDECREF(call->release);
  Py_XDECREF(call->interruptible);
  Py_XDECREF(call->stop);
  Py_XDECREF(call->given);
  Py_XDECREF(call->form);
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
  part->shape = PyMem_Calloc(2 * part->rank + 1, sizeof(npy_intp));
  if (!part->shape) return PyErr_NoMemory() != NULL;
  part->measured = part->shape + part->rank;
  if (part->kind == TENSOR && !PyArray_API && _import_array() < 0) return 0;
  if (part->kind == TENSOR && !PyArray_DescrCheck(object)) return PyErr_Format(PyExc_TypeError, "a tensor has a dtype") != NULL;
  if (part->kind == TENSOR) part->bytes = PyDataType_ELSIZE((PyArray_Descr *)object);
  for (int i = 0; i < part->rank; i++) part->bytes *= part->shape[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
  return !PyErr_Occurred();
}

/* A call from (address, rest, words, results, busy, the structures of the arguments and of the result, is_flat, is_row, operands, the
   result's parts, kept, in turn, measure, sizes, lengths); addresses are numbers. `measure` is 0 if all lengths are known, `sizes` and
   `lengths` are the numbers of those that are not. `in turn`:
   () for a short call; otherwise the methods that acquire and release its lock, the function that ends it (or None), the address of the
   variable that this sets, and the class of native_interrupts.py. */
static PyObject *new_call(PyObject *unused, PyObject *from) {
  unsigned long long address, rest, words, results, measure, stopped = 0;
  Py_ssize_t sizes, lengths;
  PyObject *busy, *given, *form, *operands, *parts, *kept, *turn;
  PyObject *acquire = NULL, *release = NULL, *stop = Py_None, *interruptible = NULL;
  int is_flat, is_row;
  if (!PyArg_ParseTuple(from, "KKKKO!SSppO!O!OO!Knn", &address, &rest, &words, &results, &PyList_Type, &busy, &given, &form, &is_flat,
                        &is_row, &PyTuple_Type, &operands, &PyTuple_Type, &parts, &kept, &PyTuple_Type, &turn, &measure,
                        &sizes, &lengths) ||
      (PyTuple_GET_SIZE(turn) && !PyArg_ParseTuple(turn, "OOOKO", &acquire, &release, &stop, &stopped, &interruptible)))
    return NULL;
  Py_ssize_t count = PyTuple_GET_SIZE(operands), all = count + PyTuple_GET_SIZE(parts);
  Call *call = (Call *)Call_Type.tp_alloc(&Call_Type, all);
  if (!call) return NULL;
  call->call = (int (*)(union word const *, union word *))(uintptr_t)address;
  call->rest = (long (*)(void))(uintptr_t)rest;
  call->words = (union word *)(uintptr_t)words;
  call->results = (union word *)(uintptr_t)results;
  call->kept = Py_NewRef(kept);
  call->busy = Py_NewRef(busy);
  call->acquire = Py_XNewRef(acquire);
  call->release = Py_XNewRef(release);
  call->interruptible = Py_XNewRef(interruptible);
  call->stop = stop == Py_None ? NULL : Py_NewRef(stop);
  call->stopped = (int volatile *)(uintptr_t)stopped;
  call->given = Py_NewRef(given);
  call->form = Py_NewRef(form);
  call->measure = (int (*)(long const *, long *))(uintptr_t)measure;
  call->sizes = sizes;
  call->lengths = PyMem_Calloc(lengths + 1, sizeof(long));
  if (!call->lengths) {
    Py_DECREF(call);
    return PyErr_NoMemory();
  }
  call->operands = count;
  call->is_flat = is_flat;
  call->is_row = is_row;
  for (Py_ssize_t i = 0; i < all; i++) {
    PyObject *part = i < count ? PyTuple_GET_ITEM(operands, i) : PyTuple_GET_ITEM(parts, i - count);
    if (!read_part(part, &call->parts[i])) {
      Py_DECREF(call);
      return NULL;
    }
  }
  return (PyObject *)call;
}

/* Python's procedures (convert.Procedure), whose attribute `quicks` is a sequence of (leaves, shape), as fast_call.Quick. */

static Py_ssize_t quicks_at, guards_at;

/* Do the names outside of a translated Python function have the values of when it was translated? `guards` is a list of
   (dictionary, name, value), (dictionary, name) for a name without value, or (a closure's cell, value). */
static int are_current(PyObject *guards) {
  if (!guards || !PyList_Check(guards)) return 1;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(guards); i++) {
    PyObject *guard = PyList_GET_ITEM(guards, i), *first = PyTuple_GET_ITEM(guard, 0), *second = PyTuple_GET_ITEM(guard, 1);
    if (PyCell_Check(first)) {
      if (PyCell_GET(first) != second) return 0;
    } else if (PyDict_GetItemWithError(first, second) != (PyTuple_GET_SIZE(guard) > 2 ? PyTuple_GET_ITEM(guard, 2) : NULL)) {
      return 0;
    }
  }
  return 1;
}

/* Is a procedure that of a translated Python function, or its derivative? Only these have a list of guards. */
static int is_of_python(PyObject *self) {
  PyObject *guards = *(PyObject **)((char *)self + guards_at);
  return guards && PyList_Check(guards);
}

/* A result from leaves, by the method `_shaped` of procedures that reshape; NULL and NotImplemented are passed on. Steals the reference
   to the leaves. */
static PyObject *reshaped(PyObject *self, PyObject *leaves) {
  static PyObject *name;
  if (!name && !(name = PyUnicode_InternFromString("_shaped"))) return NULL;
  PyObject *result = leaves && leaves != Py_NotImplemented ? PyObject_CallMethodOneArg(self, name, leaves) : Py_XNewRef(leaves);
  Py_XDECREF(leaves);
  return result;
}

static PyObject *packed_from(PyObject *const *arguments, Py_ssize_t count) {
  PyObject *packed = PyTuple_New(count);
  for (Py_ssize_t i = 0; packed && i < count; i++) PyTuple_SET_ITEM(packed, i, Py_NewRef(arguments[i]));
  return packed;
}

/* The same for arguments with a structure, by the method `_restructured`. */
static PyObject *restructured(PyObject *self, Call *call, PyObject *const *arguments, Py_ssize_t count) {
  static PyObject *name;
  if (!name && !(name = PyUnicode_InternFromString("_restructured"))) return NULL;
  PyObject *leaves = called(call, arguments, count, 0, is_of_python(self)), *packed = NULL;
  if (!leaves || leaves == Py_NotImplemented) return leaves;
  PyObject *result = (packed = packed_from(arguments, count))
                         ? PyObject_CallMethodObjArgs(self, name, leaves, call->form, packed, NULL) : NULL;
  Py_DECREF(leaves);
  Py_XDECREF(packed);
  return result;
}

enum { RESHAPES = 1, RESTRUCTURES = 2 }; /* flags of classes of procedures */

static PyObject *by_quick(PyObject *self, PyObject *quick, PyObject *const *arguments, Py_ssize_t count, int reshapes) {
  PyObject *leaves = PyTuple_GET_ITEM(quick, 0);
  if (Py_TYPE(leaves) == &Call_Type) {
    Call *call = (Call *)leaves;
    if (!reshapes) return called(call, arguments, count, 1, is_of_python(self));
    if (is_direct(call, count) && call->is_row) return reshaped(self, called(call, arguments, count, 0, is_of_python(self)));
    if (reshapes & RESTRUCTURES) return restructured(self, call, arguments, count);
    Py_RETURN_NOTIMPLEMENTED;
  }
  PyObject *packed = packed_from(arguments, count);
  if (!packed) return NULL;
  PyObject *found = PyObject_CallOneArg(leaves, packed);
  Py_DECREF(packed);
  if (reshapes || !found || found == Py_NotImplemented) return reshapes ? reshaped(self, found) : found;
  PyObject *result = PyObject_CallOneArg(PyTuple_GET_ITEM(quick, 1), found);
  Py_DECREF(found);
  return result;
}

static PyObject *by_quicks(PyObject *self, PyObject *quicks, PyObject *const *arguments, Py_ssize_t count, int reshapes) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(quicks); i++) {
    PyObject *quick = Py_NewRef(PySequence_Fast_GET_ITEM(quicks, i)); /* the list may change during the call */
    PyObject *result = by_quick(self, quick, arguments, count, reshapes);
    Py_DECREF(quick);
    if (result != Py_NotImplemented) return result;
    Py_DECREF(result);
  }
  Py_RETURN_NOTIMPLEMENTED;
}

/* Calls a method of the procedure, for cases that are not handled here. */
static PyObject *call_method(PyObject *self, const char *name, PyObject *arguments, PyObject *names) {
  PyObject *method = PyObject_GetAttrString(self, name);
  if (!method) return NULL;
  PyObject *result = PyObject_Call(method, arguments, names);
  Py_DECREF(method);
  return result;
}

static PyObject *call_procedure(PyObject *self, PyObject *arguments, PyObject *names, int reshapes) {
  if (names && PyDict_GET_SIZE(names)) return call_method(self, "_by_name", arguments, names);
  PyObject *quicks = *(PyObject **)((char *)self + quicks_at);
  if (quicks && (PyList_Check(quicks) || PyTuple_Check(quicks)) && are_current(*(PyObject **)((char *)self + guards_at))) {
    Py_INCREF(quicks); /* the attribute may change during the call */
    PyObject *result = by_quicks(self, quicks, ((PyTupleObject *)arguments)->ob_item, PyTuple_GET_SIZE(arguments), reshapes);
    Py_DECREF(quicks);
    if (result != Py_NotImplemented) return result;
    Py_DECREF(result);
  }
  return call_method(self, "_otherwise", arguments, NULL);
}

static PyObject *call_plain(PyObject *self, PyObject *arguments, PyObject *names) {
  return call_procedure(self, arguments, names, 0);
}

static PyObject *call_reshaping(PyObject *self, PyObject *arguments, PyObject *names) {
  return call_procedure(self, arguments, names, RESHAPES);
}

static PyObject *call_restructuring(PyObject *self, PyObject *arguments, PyObject *names) {
  return call_procedure(self, arguments, names, RESHAPES | RESTRUCTURES);
}

/* The method `__call__` for a class of procedures, from (class, the descriptors of type's `__call__` and of the class's `quicks` and
   `guards`, does it reshape?, and if arguments have a structure, too?, a function from a dataclass to the tuple of its fields).
   It is a slot wrapper, as in classes written in C: a call finds it in the slot, and does not search for the method. */
static PyObject *new_method(PyObject *unused, PyObject *from) {
  PyObject *kind, *like, *slot, *guards, *fields_of;
  int reshapes, restructures;
  if (!PyArg_ParseTuple(from, "O!O!O!O!ppO", &PyType_Type, &kind, &PyWrapperDescr_Type, &like, &PyMemberDescr_Type, &slot,
                        &PyMemberDescr_Type, &guards, &reshapes, &restructures, &fields_of))
    return NULL;
  quicks_at = ((PyMemberDescrObject *)slot)->d_member->offset;
  guards_at = ((PyMemberDescrObject *)guards)->d_member->offset;
  Py_XSETREF(fields, Py_NewRef(fields_of));
  ternaryfunc call = restructures ? call_restructuring : reshapes ? call_reshaping : call_plain;
  return PyDescr_NewWrapper((PyTypeObject *)kind, ((PyWrapperDescrObject *)like)->d_base, (void *)call);
}

static PyMethodDef functions[] = {
    {"call", new_call, METH_VARARGS, NULL}, {"method", new_method, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "vlad.compile.native.c_extension", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyObject *vlad_border(void) { return PyType_Ready(&Call_Type) < 0 ? NULL : PyModule_Create(&module); }
