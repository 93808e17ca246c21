/* Python's calls of machine code: c_values.c, which is put before the types below, has the values that cross to words, and back.
   fast_call.py does the same in Python for floats and arrays, where this cannot be compiled. Short calls (fast_call.py decides which are)
   hold Python's lock (GIL), and create no object that Python's collector tracks between the first word that is written and the last one
   that is read: no other code accesses the words meanwhile. Longer calls take a separate lock, and release the GIL while they run; those
   that were brief so far are made like short ones, and watched (c_watch.c, put before the types as well). */

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

#include "c_values.c"
#include "c_watch.c"

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
  struct brief brief;          /* how long its calls took */
  struct node *nodes, *given, *form; /* the types of the arguments, by the tuple rule, and of the result, among all nodes */
  Py_ssize_t node_count;
  int is_plain;                /* is it a call from parts of known lengths to a real, or a tensor? */
  int is_flat, is_row;         /* may each argument be a part? is the result a part, or a list or a tuple of parts? */
  Py_ssize_t arity;            /* the number of parameters */
  Py_ssize_t given_words;      /* the number of words of the operands */
  int (*measure)(long const *, long *); /* from the sizes of a call to all lengths; returns UNSERVED …; NULL if all are known */
  Py_ssize_t sizes;    /* the number of lengths that axes of operands determine; they come first */
  long *lengths;       /* in this call */
  Py_ssize_t operands; /* the number of parts that are operands; the others are those of the result */
  struct part parts[];
} Call;

static PyTypeObject Call_Type;

static Py_ssize_t results_of(Call const *call) { return Py_SIZE(call) - call->operands; }

/* The shape of a tensor in this call. */
static inline npy_intp const *shape_of(Call const *call, struct part const *part) {
  if (!call->measure) return part->shape;
  for (int axis = 0; axis < part->rank; axis++)
    part->measured[axis] = part->shape[axis] < 0 ? call->lengths[-1 - part->shape[axis]] : part->shape[axis];
  return part->measured;
}

enum { UNSERVED, SHORT_CALL, LONG_CALL };

/* Finds the lengths in this call, if not all are known. Whether all operands have these lengths is not tested. */
static int measure(Call *call, struct writing const *to) {
  for (Py_ssize_t i = 0; i < call->sizes; i++) call->lengths[i] = 0;
  for (struct kept *kept = to->kept; kept; kept = kept->next) {
    struct part const *part = kept->part;
    if (part->kind == LENGTH && -1 - part->shape[0] < call->sizes) call->lengths[-1 - part->shape[0]] = as_length(kept->object);
    for (int axis = 0; part->kind == TENSOR && axis < part->rank; axis++) {
      npy_intp number = -1 - part->shape[axis];
      if (0 <= number && number < call->sizes) call->lengths[number] = PyArray_DIM((PyArrayObject *)kept->object, axis);
    }
  }
  for (Py_ssize_t i = 0; i < call->sizes; i++)
    if (call->lengths[i] < LEAST) return UNSERVED;
  return call->measure(call->lengths, call->lengths);
}

/* Have all operands the lengths in this call? */
static int are_measured(Call *call, struct writing const *to) {
  for (struct kept *kept = to->kept; kept; kept = kept->next) {
    struct part const *part = kept->part;
    if (part->kind == LENGTH && as_length(kept->object) != call->lengths[-1 - part->shape[0]]) return 0;
    if (part->kind == TENSOR && !has_shape(kept->object, part, shape_of(call, part))) return 0;
  }
  return 1;
}

static void release_all(PyObject **leaves, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++) Py_XDECREF(leaves[i]);
}

/* The arrays among the parts of the result; the call itself writes into some of them. */
static int make_arrays(Call *call, PyObject **made) {
  for (Py_ssize_t i = 0; i < results_of(call); i++) {
    struct part const *part = &call->parts[call->operands + i];
    made[i] = NULL;
    if (part->kind != TENSOR) continue;
    Py_INCREF(part->object);
    PyArray_Descr *kind = (PyArray_Descr *)part->object;
    made[i] = PyArray_NewFromDescr(&PyArray_Type, kind, part->rank, shape_of(call, part), NULL, NULL, 0, NULL);
    if (!made[i]) {
      release_all(made, i);
      return 0;
    }
    if (part->target >= 0) call->words[part->target].p = PyArray_DATA((PyArrayObject *)made[i]);
  }
  return 1;
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

/* The same in a call that is made like a short one, until it goes on for too long. */
static int call_watched(Call *call) {
  int is_measured = ++call->brief.count == AGAIN;
  long long begun = is_measured ? now() : 0;
  begin_watch(call->stopped);
  int status = call->call(call->words, call->results);
  end_watch();
  if (is_measured) note_duration(&call->brief, now() - begun, status);
  if (status && *call->stopped) note_ended(&call->brief);
  return status;
}

/* May the next call be made like a short one? */
static int is_short_now(Call const *call) { return !call->acquire || (call->brief.is_brief && watch.is_running); }

static int status_of(Call *call, int is_short) {
  if (is_short && call->stop) return call_watched(call);
  if (is_short) return call->call(call->words, call->results);
  if (!call->stop) return call_without_gil(call);
  long long begun = now();
  int status = call_interruptibly(call);
  note_duration(&call->brief, now() - begun, status);
  return status;
}

/* The call, and the leaves of its result: 1; 0 if the general path has to make it; -1 if an exception was raised. */
static int call_now(Call *call, struct writing const *to, union word const *words, struct reading *from, int is_short) {
  Py_ssize_t results = results_of(call);
  /* a call that has waited for its turn finds the lengths of another one */
  if (call->measure && ((!is_short && !measure(call, to)) || !are_measured(call, to))) return 0;
  memcpy(call->words, words, call->given_words * sizeof *words);
  PyObject *made[results + 1];
  if (!make_arrays(call, made)) return -1;
  int status = status_of(call, is_short), is_taken = status == RAISED ? -1 : 0;
  for (Py_ssize_t i = call->operands; i < Py_SIZE(call); i++)
    if (call->parts[i].target >= 0) call->words[call->parts[i].target].p = NULL;
  if (!status) {
    from->word = call->results;
    from->part = &call->parts[call->operands];
    from->made = made;
    from->lengths = call->lengths;
    is_taken = take(from, call->form);
  }
  if (call->rest) call->rest();
  release_all(made, results);
  return is_taken;
}

/* The same for a longer call, under its lock, so that no other code accesses the words: other threads wait, and code that runs in this
   thread meanwhile, such as a finalizer or a signal handler, takes the general path. */
static int call_in_turn(Call *call, struct writing const *to, union word const *words, struct reading *from) {
  PyObject *kind, *error, *traceback, *acquired = PyObject_CallNoArgs(call->acquire);
  if (!acquired) return -1; /* interrupted */
  Py_DECREF(acquired);
  int is_first = !PyList_GET_SIZE(call->busy), is_taken = 0;
  if (is_first) is_taken = PyList_Append(call->busy, call->acquire) == 0 ? call_now(call, to, words, from, 0) : -1;
  PyErr_Fetch(&kind, &error, &traceback);
  if (is_first && PyList_SetSlice(call->busy, 0, PY_SSIZE_T_MAX, NULL) < 0) is_taken = -1;
  PyObject *given = PyObject_CallNoArgs(call->release);
  if (!given) is_taken = -1;
  else Py_DECREF(given);
  if (kind) PyErr_Restore(kind, error, traceback);
  return is_taken;
}

static int call_with(Call *call, struct writing const *to, union word const *words, struct reading *from) {
  int is_short = is_short_now(call);
  if (call->measure && !PyList_GET_SIZE(call->busy)) {
    int kind = measure(call, to);
    if (kind == UNSERVED) return 0;
    is_short = kind == SHORT_CALL || is_short_now(call);
  }
  if (!is_short) return call_in_turn(call, to, words, from);
  return PyList_GET_SIZE(call->busy) ? 0 : call_now(call, to, words, from, 1);
}

/* Is each argument a part? */
static int is_direct(Call *call, Py_ssize_t count) { return call->is_flat && count == call->operands; }

static int put_arguments(Call *call, struct writing *to, PyObject *const *arguments, Py_ssize_t count) {
  if (!is_direct(call, count)) return put_items(to, call->given, NULL, arguments, count, BY_RULE);
  to->keeps = call->measure != NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    int is_put = put_leaf(to, &call->parts[i], arguments[i]);
    if (is_put != 1) return is_put;
  }
  return 1;
}

/* What a call returns: the result; the tuple of its parts; the result as a value of the language; or, if it is a gradient, or a value with
   a gradient, the result in the structure of the arguments. */
enum { WHOLE, PARTS, VALUE, GRADIENT, VALUE_AND_GRADIENT };

/* The sensitivities of the arguments that `by` of a gradient selects: all, one or a tuple of them. */
static PyObject *gradient_of(struct reading *from, struct node *node, PyObject *by, PyObject *const *arguments, Py_ssize_t count) {
  if (PyLong_Check(by)) {
    Py_ssize_t index = PyLong_AsSsize_t(by);
    return 0 <= index && index < count ? like(from, node, arguments[index]) : NULL;
  }
  Py_ssize_t chosen = by == Py_None ? count : PyTuple_Check(by) ? PyTuple_GET_SIZE(by) : 0;
  if (!chosen) return NULL;
  if (by == Py_None && count == 1) return like(from, node, arguments[0]);
  PyObject *models[chosen];
  for (Py_ssize_t i = 0; i < chosen; i++) {
    Py_ssize_t index = by == Py_None ? i : PyLong_AsSsize_t(PyTuple_GET_ITEM(by, i));
    if (!(0 <= index && index < count)) return NULL;
    models[i] = arguments[index];
  }
  PyObject *parts = like_each(from, node, NULL, models, chosen, BY_RULE);
  if (parts) Py_SETREF(parts, PyList_AsTuple(parts));
  return parts;
}

static PyObject *differentiated(struct reading *from, Call *call, int how, PyObject *by, PyObject *const *arguments, Py_ssize_t count) {
  struct node *node = call->form;
  PyObject *value = NULL, *gradient;
  if (how == VALUE_AND_GRADIENT) {
    node = resolved(from, node);
    if (node->kind == PAIR) value = built(from, node->first);
    if (!value) return NULL;
    node = node->rest;
  }
  gradient = gradient_of(from, node, by, arguments, count);
  if (value && gradient) Py_SETREF(gradient, PyTuple_Pack(2, value, gradient));
  Py_XDECREF(value);
  return gradient;
}

static PyObject *formed(struct reading *from, Call *call, int how, PyObject *by, PyObject *const *arguments, Py_ssize_t count) {
  PyObject *whole;
  from->next = from->leaves;
  from->next_choice = from->choices;
  if (how == WHOLE) return built(from, call->form);
  if (how == VALUE) return value_of(from, call->form);
  if (how != PARTS) {
    whole = differentiated(from, call, how, by, arguments, count);
    return whole || PyErr_Occurred() ? whole : Py_NewRef(Py_NotImplemented); /* an argument has changed meanwhile */
  }
  if ((whole = PyTuple_New(from->count)))
    for (Py_ssize_t i = 0; i < from->count; i++) PyTuple_SET_ITEM(whole, i, Py_NewRef(from->leaves[i]));
  return whole;
}

/* A short call from parts of known lengths to a real, or a tensor: what the general case needs takes as long as such a call. */
static PyObject *called_plainly(Call *call, PyObject *const *arguments, int of_python) {
  union word words[call->given_words + 1];
  struct writing to;
  to.word = words;
  to.keeps = 0;
  to.of_python = of_python;
  for (Py_ssize_t i = 0; i < call->operands; i++)
    if (put_leaf(&to, &call->parts[i], arguments[i]) != 1) Py_RETURN_NOTIMPLEMENTED;
  if (PyList_GET_SIZE(call->busy)) Py_RETURN_NOTIMPLEMENTED;
  for (Py_ssize_t i = 0; i < call->given_words; i++) call->words[i] = words[i];
  int is_tensor = call->form->part.kind == TENSOR;
  PyObject *array = NULL;
  if (is_tensor && !make_arrays(call, &array)) return NULL;
  int status = status_of(call, 1);
  double result = call->results[0].d;
  Py_ssize_t target = is_tensor ? call->parts[call->operands].target : -1;
  if (target >= 0) call->words[target].p = NULL;
  else if (is_tensor && !status) memcpy(PyArray_DATA((PyArrayObject *)array), call->results[0].p, PyArray_NBYTES((PyArrayObject *)array));
  if (call->rest) call->rest();
  if (status) {
    Py_XDECREF(array);
    Py_RETURN_NOTIMPLEMENTED;
  }
  if (!is_tensor) return PyFloat_FromDouble(result);
  PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
  return array;
}

/* The result of a call, where `by` selects arguments for a gradient; NotImplemented if the arguments are others, or the general path has to raise an error. */
static PyObject *called(Call *call, PyObject *const *arguments, Py_ssize_t count, int how, PyObject *by, int of_python) {
  struct scratch scratch;
  union word words[call->given_words + 1];
  open_scratch(&scratch);
  struct writing to = {&scratch, words, NULL, 1, 0, of_python};
  PyObject *leaves[8], *result = NULL;
  char choices[64];
  struct reading from; /* an initializer would clear all of it, which costs as much as a short call */
  from.scratch = &scratch;
  from.leaves = leaves;
  from.choices = choices;
  from.count = from.choice_count = from.depth = 0;
  from.room = 8;
  from.choice_room = sizeof choices;
  from.of_python = of_python;
  int is_taken = put_arguments(call, &to, arguments, count);
  if (is_taken == 1) is_taken = call_with(call, &to, words, &from);
  if (is_taken == 1) result = formed(&from, call, how, by, arguments, count);
  else if (is_taken == 0) result = Py_NewRef(Py_NotImplemented);
  release_all(from.leaves, from.count);
  release_kept(&to);
  close_scratch(&scratch);
  return result;
}

static PyObject *call_leaves(PyObject *self, PyObject *arguments, PyObject *names) {
  PyObject *packed;
  if (names && PyDict_GET_SIZE(names)) return PyErr_Format(PyExc_TypeError, "arguments have no names here");
  if (!PyArg_ParseTuple(arguments, "O!", &PyTuple_Type, &packed)) return NULL;
  Call *call = (Call *)self;
  if (!is_direct(call, PyTuple_GET_SIZE(packed)) || !call->is_row) Py_RETURN_NOTIMPLEMENTED;
  return called(call, ((PyTupleObject *)packed)->ob_item, PyTuple_GET_SIZE(packed), PARTS, NULL, 0);
}

static void call_freed(PyObject *self) {
  Call *call = (Call *)self;
  for (Py_ssize_t i = 0; i < Py_SIZE(call); i++) free_part(&call->parts[i]);
  for (Py_ssize_t i = 0; i < call->node_count; i++) free_node(&call->nodes[i]);
  PyMem_Free(call->nodes);
  PyMem_Free(call->lengths);
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

/* A call from (address, rest, words, results, busy, nodes, the numbers of those of the arguments and of the result, is_flat, is_row, arity,
   the number of the operands' words, operands, the result's parts, kept, in turn, measure, sizes, lengths); addresses are numbers. `measure` is 0 if all lengths are known, `sizes` and
   `lengths` are the numbers of those that are not. `in turn`:
   () for a short call; otherwise the methods that acquire and release its lock, the function that ends it (or None), the address of the
   variable that this sets, and the class of native_interrupts.py. */
static PyObject *new_call(PyObject *unused, PyObject *from) {
  unsigned long long address, rest, words, results, measure, stopped = 0;
  Py_ssize_t sizes, lengths, given, form, arity, given_words;
  PyObject *busy, *nodes, *operands, *parts, *kept, *turn;
  PyObject *acquire = NULL, *release = NULL, *stop = Py_None, *interruptible = NULL;
  int is_flat, is_row;
  if (!PyArg_ParseTuple(from, "KKKKO!O!nnppnnO!O!OO!Knn", &address, &rest, &words, &results, &PyList_Type, &busy, &PyTuple_Type, &nodes,
                        &given, &form, &is_flat, &is_row, &arity, &given_words, &PyTuple_Type, &operands, &PyTuple_Type, &parts, &kept, &PyTuple_Type, &turn, &measure,
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
  call->arity = arity;
  call->given_words = given_words;
  call->measure = (int (*)(long const *, long *))(uintptr_t)measure;
  call->sizes = sizes;
  call->lengths = PyMem_Calloc(lengths + 1, sizeof(long));
  call->nodes = PyMem_Calloc(PyTuple_GET_SIZE(nodes) + 1, sizeof *call->nodes);
  if (!call->lengths || !call->nodes) {
    Py_DECREF(call);
    return PyErr_NoMemory();
  }
  call->node_count = PyTuple_GET_SIZE(nodes);
  call->given = numbered(call->nodes, call->node_count, given);
  call->form = numbered(call->nodes, call->node_count, form);
  int is_read = call->given && call->form;
  for (Py_ssize_t i = 0; is_read && i < call->node_count; i++)
    is_read = read_node(PyTuple_GET_ITEM(nodes, i), call->nodes, call->node_count, &call->nodes[i]);
  call->operands = count;
  call->is_flat = is_flat;
  call->is_row = is_row;
  for (Py_ssize_t i = 0; is_read && i < all; i++)
    is_read = read_part(i < count ? PyTuple_GET_ITEM(operands, i) : PyTuple_GET_ITEM(parts, i - count), &call->parts[i]);
  if (!is_read) {
    Py_DECREF(call);
    return NULL;
  }
  int has_plain_result = call->form->kind == LEAF && (call->form->part.kind == REAL || (call->form->part.kind == TENSOR && results_of(call) == 1));
  call->is_plain = is_flat && !call->measure && has_plain_result;
  return (PyObject *)call;
}

/* Python's procedures (convert.Procedure), whose attribute `quicks` is a sequence of (leaves, shape), as fast_call.Quick. */

static Py_ssize_t quicks_at, guards_at, places_at;

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

/* The same for arguments with a structure, by the method `_restructured`, from a value of the language. */
static PyObject *restructured(PyObject *self, Call *call, PyObject *const *arguments, Py_ssize_t count) {
  static PyObject *name;
  if (!name && !(name = PyUnicode_InternFromString("_restructured"))) return NULL;
  PyObject *value = called(call, arguments, count, VALUE, NULL, is_of_python(self)), *packed = NULL;
  if (!value || value == Py_NotImplemented) return value;
  PyObject *result = (packed = packed_from(arguments, count))
                         ? PyObject_CallMethodObjArgs(self, name, value, packed, NULL) : NULL;
  Py_DECREF(value);
  Py_XDECREF(packed);
  return result;
}

/* What determines the result of a class of procedures: machine code alone; the method `_shaped`, from the parts of the result; that or the
   method `_restructured`; or the structure of the arguments, of a gradient or a value with a gradient (convert.Procedure). */
enum { PLAIN, RESHAPES, RESTRUCTURES, LIKE_ARGUMENTS, VALUE_LIKE_ARGUMENTS };

static PyObject *by_quick(PyObject *self, PyObject *quick, PyObject *const *arguments, Py_ssize_t count, int reshapes) {
  static PyObject *name;
  if (!name && !(name = PyUnicode_InternFromString("by"))) return NULL;
  PyObject *leaves = PyTuple_GET_ITEM(quick, 0);
  if (Py_TYPE(leaves) == &Call_Type) {
    Call *call = (Call *)leaves;
    if (!reshapes && call->is_plain && count == call->operands && is_short_now(call)) return called_plainly(call, arguments, is_of_python(self));
    if (!reshapes) return called(call, arguments, count, WHOLE, NULL, is_of_python(self));
    if (reshapes >= LIKE_ARGUMENTS) {
      PyObject *by = PyObject_GetAttr(self, name), *result = NULL;
      if (!by) return NULL;
      int how = reshapes == LIKE_ARGUMENTS ? GRADIENT : VALUE_AND_GRADIENT, is_like = by == Py_None || count == call->arity;
      if (is_like) result = called(call, arguments, count, how, by, is_of_python(self));
      Py_DECREF(by);
      if (is_like) return result;
    }
    if (is_direct(call, count) && call->is_row) return reshaped(self, called(call, arguments, count, PARTS, NULL, is_of_python(self)));
    if (reshapes >= RESTRUCTURES) return restructured(self, call, arguments, count);
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

/* The arguments of a call in the order of the parameters, with defaults, borrowed; 0 if a method has to find them. `places` is (names,
   defaults, what stands for no default) of a translated Python function. */
static int complete(PyObject *places, PyObject *const *arguments, Py_ssize_t count, PyObject *named, PyObject **found) {
  PyObject *parameters = PyTuple_GET_ITEM(places, 0), *defaults = PyTuple_GET_ITEM(places, 1), *empty = PyTuple_GET_ITEM(places, 2);
  PyObject *name, *value;
  Py_ssize_t all = PyTuple_GET_SIZE(defaults), at = 0, i;
  for (i = 0; i < all; i++) found[i] = i < count ? arguments[i] : NULL;
  while (named && PyDict_Next(named, &at, &name, &value)) {
    for (i = count; i < all && PyTuple_GET_ITEM(parameters, i) != name; i++);
    if (i == all || found[i]) return 0;
    found[i] = value;
  }
  for (Py_ssize_t i = count; i < all; i++) {
    if (!found[i]) found[i] = PyTuple_GET_ITEM(defaults, i);
    if (found[i] == empty) return 0;
  }
  return 1;
}

static PyObject *call_procedure(PyObject *self, PyObject *packed, PyObject *named, int reshapes) {
  PyObject *quicks = *(PyObject **)((char *)self + quicks_at), *places = *(PyObject **)((char *)self + places_at);
  PyObject *const *arguments = ((PyTupleObject *)packed)->ob_item;
  Py_ssize_t count = PyTuple_GET_SIZE(packed);
  if (named && !PyDict_GET_SIZE(named)) named = NULL;
  Py_ssize_t all = places && PyTuple_Check(places) ? PyTuple_GET_SIZE(PyTuple_GET_ITEM(places, 1)) : count;
  int is_as_given = !named && count == all; /* the tuple rule is not Python's */
  if (quicks && (PyList_Check(quicks) || PyTuple_Check(quicks)) && PySequence_Fast_GET_SIZE(quicks) && (is_as_given || all > count) &&
      are_current(*(PyObject **)((char *)self + guards_at))) {
    PyObject *found[is_as_given ? 1 : all];
    if (is_as_given || complete(places, arguments, count, named, found)) {
      Py_INCREF(quicks); /* the attributes may change during the call */
      Py_XINCREF(places);
      PyObject *result = by_quicks(self, quicks, is_as_given ? arguments : found, is_as_given ? count : all, reshapes);
      Py_XDECREF(places);
      Py_DECREF(quicks);
      if (result != Py_NotImplemented) return result;
      Py_DECREF(result);
    }
  }
  return call_method(self, named ? "_by_name" : "_otherwise", packed, named);
}

#define WAY(name, reshapes)                                                                                        \
  static PyObject *name(PyObject *self, PyObject *packed, PyObject *named) {                                       \
    return call_procedure(self, packed, named, reshapes);                                                          \
  }
WAY(call_plain, PLAIN)
WAY(call_reshaping, RESHAPES)
WAY(call_restructuring, RESTRUCTURES)
WAY(call_like, LIKE_ARGUMENTS)
WAY(call_value_like, VALUE_LIKE_ARGUMENTS)

static ternaryfunc const ways[] = {call_plain, call_reshaping, call_restructuring, call_like, call_value_like};

/* The method `__call__` for a class of procedures, from (class, the descriptors of type's `__call__` and of the class's `quicks`, `guards`
   and `places`, what determines its results, and functions of convert.py: `fields`, `copied`, `tensor`). It is a slot wrapper, as in
   classes written in C: a call finds it in the slot, and does not search for the method. */
static PyObject *new_method(PyObject *unused, PyObject *from) {
  PyObject *kind, *like, *slots[3], *fields_of, *copy_of, *tensor_of;
  int reshapes;
  if (!PyArg_ParseTuple(from, "O!O!O!O!O!iOOO", &PyType_Type, &kind, &PyWrapperDescr_Type, &like, &PyMemberDescr_Type, &slots[0],
                        &PyMemberDescr_Type, &slots[1], &PyMemberDescr_Type, &slots[2], &reshapes, &fields_of, &copy_of, &tensor_of))
    return NULL;
  if (!(PLAIN <= reshapes && reshapes <= VALUE_LIKE_ARGUMENTS)) return PyErr_Format(PyExc_ValueError, "there is no such way");
  quicks_at = ((PyMemberDescrObject *)slots[0])->d_member->offset;
  guards_at = ((PyMemberDescrObject *)slots[1])->d_member->offset;
  places_at = ((PyMemberDescrObject *)slots[2])->d_member->offset;
  Py_XSETREF(fields, Py_NewRef(fields_of));
  Py_XSETREF(copied, Py_NewRef(copy_of));
  Py_XSETREF(tensor, Py_NewRef(tensor_of));
  return PyDescr_NewWrapper((PyTypeObject *)kind, ((PyWrapperDescrObject *)like)->d_base, (void *)ways[reshapes]);
}

static PyMethodDef functions[] = {
    {"call", new_call, METH_VARARGS, NULL}, {"method", new_method, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "vlad.compile.native.c_extension", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyObject *vlad_border(void) { return PyType_Ready(&Call_Type) < 0 ? NULL : PyModule_Create(&module); }
