/* Values of Python's to words and back, by the types of machine code (calling/structures.py describes them). Part of c_extension.c.

   The types are a graph of nodes, as values are in the language: numbers, arrays and constants; pairs; and unions, whose values are
   pointers to boxes, as marshal.py writes them. Python's values are read as the pairs that convert.py would make of them, without making
   these. To read a field may run code of Python's, and so may making a record: the words of a call are written, and read, at once, between
   the two. */

union word { double d; long i; void *p; };

enum { CONSTANT, REAL, TENSOR, LENGTH, BOOLEAN, OBJECT, POINTER }; /* kinds of parts, of the operands or of the result */
enum { LEAST = 2 };                   /* length that an axis of unknown length has */
enum { PAIR, ATOM, LEAF, UNION };     /* kinds of nodes */
enum { EMPTY, NONE, TUPLE, DICT, RECORD, NAME }; /* what an atom is: the empty list, or a symbol (convert.py) */

struct part {
  int kind, rank;
  PyObject *object;    /* a constant: a float for an operand, or what has to be identical; or a tensor's dtype */
  npy_intp *shape;     /* -1 - n for the length with the number n, which is known only in a call; for a length that itself */
  npy_intp *measured;  /* room for the shape in a call */
  int is_sized;        /* is its shape known? */
  Py_ssize_t target;   /* of a part of the result: the word with the address at which to write its entries; -1: none */
};

struct node;

struct member {
  struct node *node;
  Py_ssize_t words; /* in a box, without the tag; 0 if it has none: then the pointer is the number of the member, from 1 on */
  long tag;
};

struct node {
  int kind, role;
  struct node *first, *rest;    /* of a pair */
  PyObject *object, *names;     /* of an atom: the symbol, or its class and its fields; of a name, the text */
  PyObject *value;              /* of an atom or a constant: in the language */
  int is_tuple;                 /* is the record a named tuple? */
  struct part part;             /* of a leaf */
  int is_tagged;                /* have boxes of the union tags? */
  Py_ssize_t count;
  struct member *members;       /* of a union */
};

/* Functions of convert.py: from an object to the tuple of its fields, or None if it is no dataclass; from a record, with the values for its
   fields, to a copy; from an array to a tensor. */
static PyObject *fields, *copied, *tensor;

enum { MOST_DEPTH = 200 }; /* of values in each other */
static unsigned long const LARGEST_WHOLE = 1ul << 53; /* as in values.py */

/* Memory of a call, freed at once. */
struct chunk { struct chunk *before; };
struct scratch {
  char *top, *end;
  struct chunk *chunks;
  size_t next;
  union word first[64];
};

static void open_scratch(struct scratch *scratch) {
  scratch->top = (char *)scratch->first;
  scratch->end = scratch->top + sizeof scratch->first;
  scratch->chunks = NULL;
  scratch->next = 8192;
}

static void close_scratch(struct scratch *scratch) {
  for (struct chunk *chunk = scratch->chunks, *before; chunk; chunk = before) before = chunk->before, PyMem_Free(chunk);
}

/* Room for words; NULL and MemoryError if there is none. */
static inline void *allocated(struct scratch *scratch, size_t bytes) {
  if ((size_t)(scratch->end - scratch->top) < bytes) {
    size_t size = bytes + sizeof(union word) > scratch->next ? bytes + sizeof(union word) : scratch->next;
    struct chunk *chunk = PyMem_Malloc(size);
    if (!chunk) return PyErr_NoMemory();
    chunk->before = scratch->chunks;
    scratch->chunks = chunk;
    scratch->top = (char *)chunk + sizeof(union word);
    scratch->end = (char *)chunk + size;
    scratch->next = 2 * size;
  }
  void *at = scratch->top;
  scratch->top += (bytes + 7) & ~(size_t)7;
  return at;
}

/* Is it a scalar of NumPy's, other than float64, which is a float? NumPy need not have been imported yet. */
static int is_scalar(PyObject *x) {
  if (PyType_HasFeature(Py_TYPE(x), Py_TPFLAGS_HEAPTYPE) || strncmp(Py_TYPE(x)->tp_name, "numpy.", 6)) return 0;
  if (!PyArray_API && _import_array() < 0) return PyErr_Clear(), 0;
  return PyArray_IsScalar(x, Integer) || PyArray_IsScalar(x, Float) || PyArray_IsScalar(x, Bool);
}

/* Is a real that was a whole number the same number? The general path decides about others. */
static inline int is_exact(double whole) { return fabs(whole) < (double)LARGEST_WHOLE; }

/* The same for the entries of an array of whole numbers. */
static int are_exact(PyArrayObject *array) {
  long const *entries = PyArray_DATA(array);
  npy_intp count = PyArray_SIZE(array);
  unsigned long beyond = 0;
  for (npy_intp i = 0; i < count; i++) beyond |= (unsigned long)entries[i] + LARGEST_WHOLE > 2ul * LARGEST_WHOLE;
  return !beyond;
}

static int as_real_of_numpy(PyObject *x, double *real) {
  if (!is_scalar(x) || PyArray_IsScalar(x, Bool)) return 0;
  PyObject *found = PyNumber_Float(x);
  if (!found) return PyErr_Clear(), 0;
  *real = PyFloat_AS_DOUBLE(found);
  Py_DECREF(found);
  return !PyArray_IsScalar(x, Integer) || is_exact(*real);
}

/* Is it a real, as in convert.py? Subclasses of float are excluded if defined in Python, since they may override the conversion; NumPy's
   float64 is included. */
static inline int as_real(PyObject *x, double *real) {
  if (PyFloat_CheckExact(x) || (PyFloat_Check(x) && !PyType_HasFeature(Py_TYPE(x), Py_TPFLAGS_HEAPTYPE))) {
    *real = PyFloat_AS_DOUBLE(x);
    return 1;
  }
  if (!PyLong_CheckExact(x)) return as_real_of_numpy(x, real);
  *real = PyLong_AsDouble(x);
  if (*real != -1.0 || !PyErr_Occurred()) return is_exact(*real);
  PyErr_Clear(); /* too large for a real: the general path raises the error */
  return 0;
}

/* A number as a length; 0 if it is none. */
static long as_length(PyObject *x) {
  double real;
  if (!as_real(x, &real) || !(LEAST <= real && real < 1L << 31)) return 0;
  return real == (long)real ? (long)real : 0;
}

/* Is it an array of a dtype and rank, with contiguous entries in C order? */
static inline int is_like(PyObject *x, struct part const *part) {
  if (!PyArray_API || Py_TYPE(x) != &PyArray_Type) return 0;
  PyArrayObject *array = (PyArrayObject *)x;
  return (PyObject *)PyArray_DESCR(array) == part->object && PyArray_NDIM(array) == part->rank && PyArray_IS_C_CONTIGUOUS(array) &&
         PyArray_ISALIGNED(array);
}

static inline int has_shape(PyObject *x, struct part const *part, npy_intp const *shape) {
  npy_intp const *found = PyArray_DIMS((PyArrayObject *)x);
  for (int axis = 0; axis < part->rank; axis++)
    if (found[axis] != shape[axis]) return 0;
  return 1;
}

/* Arguments on the way to words. */

struct kept { /* an array, which stays alive during the call, or a number that is a length */
  struct kept *next;
  PyObject *object;
  struct part *part;
};

struct writing {
  struct scratch *scratch;
  union word *word;   /* the next one */
  struct kept *kept;
  int keeps;          /* may what holds the arrays, or their number of entries, change meanwhile? */
  int depth, of_python;
};

static int keep(struct writing *to, PyObject *x, struct part *part) {
  struct kept *kept = allocated(to->scratch, sizeof *kept);
  if (!kept) return 0;
  *kept = (struct kept){to->kept, Py_NewRef(x), part};
  to->kept = kept;
  return 1;
}

static void release_kept(struct writing *to) {
  for (struct kept *kept = to->kept; kept; kept = kept->next) Py_DECREF(kept->object);
}

/* Each of the following returns 1 if the value is of the type, 0 if not, -1 if an exception was raised. */

static inline int put_leaf(struct writing *to, struct part *part, PyObject *x) {
  double real;
  switch (part->kind) {
  case REAL:
    return as_real(x, &to->word++->d);
  case BOOLEAN:
    if (x != Py_True && x != Py_False && !(is_scalar(x) && PyArray_IsScalar(x, Bool))) return 0;
    to->word++->i = PyObject_IsTrue(x);
    return 1;
  case OBJECT:
    return x == part->object;
  case CONSTANT: /* it has no word; other values need other machine code */
    return as_real(x, &real) && real == PyFloat_AS_DOUBLE(part->object) && signbit(real) == signbit(PyFloat_AS_DOUBLE(part->object));
  case LENGTH:
    return keep(to, x, part) ? 1 : -1;
  default:
    if (!is_like(x, part) || (part->is_sized && !has_shape(x, part, part->shape))) return 0;
    if (to->of_python && PyArray_TYPE((PyArrayObject *)x) == NPY_LONG && !are_exact((PyArrayObject *)x)) return 0;
    to->word++->p = PyArray_DATA((PyArrayObject *)x);
    return !to->keeps || keep(to, x, part) ? 1 : -1;
  }
}

/* Is a node this atom? */
static int is_atom(struct node const *node, int role, PyObject *object) {
  if (node->kind != ATOM || node->role != role) return 0;
  if (role == RECORD) return node->object == object;
  return role != NAME || node->names == object || PyUnicode_Compare(node->names, object) == 0;
}

/* The node of an atom of a type, or in a union of it. */
static struct node *atom_in(struct node *node, int role, PyObject *object, Py_ssize_t *index) {
  *index = -1;
  if (node->kind != UNION) return is_atom(node, role, object) ? node : NULL;
  for (*index = 0; *index < node->count; ++*index)
    if (is_atom(node->members[*index].node, role, object)) return node->members[*index].node;
  return NULL;
}

static int put_atom(struct writing *to, struct node *node, int role, PyObject *object) {
  Py_ssize_t index;
  if (!atom_in(node, role, object, &index)) return PyErr_Occurred() ? -1 : 0;
  if (index >= 0) to->word++->p = (void *)(index + 1);
  return 1;
}

/* Begins a value of a member: what follows goes into its box. */
static int enter(struct writing *to, struct node *node, Py_ssize_t index, union word **after) {
  struct member *member = &node->members[index];
  union word *word = to->word++;
  if (!*after) *after = to->word;
  if (!member->words) return word->p = (void *)(index + 1), 1;
  union word *box = allocated(to->scratch, (member->words + node->is_tagged) * sizeof *box);
  if (!box) return -1;
  word->p = box;
  if (node->is_tagged) box++->i = member->tag;
  to->word = box;
  return 1;
}

/* The pair that a value of a type is. `after`: where to go on, once it is written, unless it is NULL. */
static inline int enter_pair(struct writing *to, struct node **node, union word **after) {
  if ((*node)->kind == PAIR) return 1;
  if ((*node)->kind != UNION) return 0;
  for (Py_ssize_t i = 0; i < (*node)->count; i++)
    if ((*node)->members[i].node->kind == PAIR) {
      int is_entered = enter(to, *node, i, after);
      *node = (*node)->members[i].node;
      return is_entered;
    }
  return 0;
}

static int put(struct writing *to, struct node *node, PyObject *x);

static int put_number(struct writing *to, struct node *node, PyObject *x) {
  if (node->kind == LEAF) return put_leaf(to, &node->part, x);
  for (Py_ssize_t i = 0; node->kind == UNION && i < node->count; i++) {
    struct node *inner = node->members[i].node;
    union word *before = to->word, *after = NULL;
    if (inner->kind != LEAF) continue;
    int is_put = enter(to, node, i, &after);
    if (is_put == 1) is_put = put_leaf(to, &inner->part, x);
    to->word = is_put == 1 ? after : before;
    if (is_put) return is_put;
  }
  return 0;
}

/* Items as a chain of pairs: those of a list, or of an array; by the tuple rule the last one is the end. The list may change meanwhile. */
enum { ENDS_EMPTY, ENDS_TUPLE, BY_RULE };

static int put_items(struct writing *to, struct node *node, PyObject *list, PyObject *const *items, Py_ssize_t count, int ending) {
  union word *after = NULL;
  int is_put;
  for (Py_ssize_t i = 0;; i++) {
    if (list) count = PyList_GET_SIZE(list);
    if (i >= count) {
      is_put = put_atom(to, node, ending == ENDS_TUPLE ? TUPLE : EMPTY, NULL);
      break;
    }
    PyObject *item = list ? PyList_GET_ITEM(list, i) : items[i];
    if (ending == BY_RULE && i == count - 1) {
      is_put = put(to, node, item);
      break;
    }
    if ((is_put = enter_pair(to, &node, &after)) != 1) break;
    if (node->first->kind == LEAF && node->first->part.kind == REAL && PyFloat_CheckExact(item)) to->word++->d = PyFloat_AS_DOUBLE(item);
    else if ((is_put = put(to, node->first, item)) != 1) break;
    node = node->rest;
  }
  if (after) to->word = after;
  return is_put;
}

static int put_dict(struct writing *to, struct node *node, PyObject *dict) {
  union word *after = NULL, *after_pair;
  PyObject *key, *item;
  Py_ssize_t at = 0, count = PyDict_GET_SIZE(dict);
  int is_put = enter_pair(to, &node, &after);
  if (is_put == 1) is_put = put_atom(to, node->first, DICT, NULL);
  while (is_put == 1) {
    node = node->rest;
    if (!PyDict_Next(dict, &at, &key, &item)) {
      is_put = put_atom(to, node, EMPTY, NULL);
      break;
    }
    if ((is_put = enter_pair(to, &node, &after)) != 1) break;
    struct node *pair = node->first;
    after_pair = NULL;
    if ((is_put = enter_pair(to, &pair, &after_pair)) != 1) break;
    Py_INCREF(key);
    Py_INCREF(item);
    is_put = PyUnicode_Check(key) ? put_atom(to, pair->first, NAME, key) : put(to, pair->first, key);
    if (is_put == 1) is_put = put(to, pair->rest, item);
    Py_DECREF(key);
    Py_DECREF(item);
    if (after_pair) to->word = after_pair;
    if (is_put == 1 && PyDict_GET_SIZE(dict) != count) is_put = 0;
  }
  if (after) to->word = after;
  return is_put;
}

/* A named tuple or a dataclass of a translated Python function's. */
static int put_record(struct writing *to, struct node *node, PyObject *x) {
  union word *after = NULL;
  Py_ssize_t index;
  int is_put = enter_pair(to, &node, &after);
  if (is_put == 1) {
    struct node *head = atom_in(node->first, RECORD, (PyObject *)Py_TYPE(x), &index);
    is_put = head ? put_atom(to, node->first, RECORD, head->object) : 0;
    node = node->rest;
    if (is_put == 1 && head->is_tuple) {
      is_put = put_items(to, node, NULL, ((PyTupleObject *)x)->ob_item, PyTuple_GET_SIZE(x), ENDS_TUPLE);
    } else if (is_put == 1) {
      for (Py_ssize_t i = 0; is_put == 1 && i < PyTuple_GET_SIZE(head->names); i++) {
        if ((is_put = enter_pair(to, &node, &after)) != 1) break;
        PyObject *field = PyObject_GetAttr(x, PyTuple_GET_ITEM(head->names, i));
        is_put = field ? put(to, node->first, field) : -1;
        Py_XDECREF(field);
        node = node->rest;
      }
      if (is_put == 1) is_put = put_atom(to, node, EMPTY, NULL);
    }
  }
  if (after) to->word = after;
  return is_put;
}

static int put_structure(struct writing *to, struct node *node, PyObject *x) {
  PyTypeObject *kind = Py_TYPE(x);
  if (PyList_Check(x)) return kind->tp_iter == PyList_Type.tp_iter ? put_items(to, node, x, NULL, 0, ENDS_EMPTY) : 0;
  if (to->of_python) {
    if (PyTuple_CheckExact(x)) return put_items(to, node, NULL, ((PyTupleObject *)x)->ob_item, PyTuple_GET_SIZE(x), ENDS_TUPLE);
    if (PyDict_CheckExact(x)) return put_dict(to, node, x);
    if (x == Py_None) return put_atom(to, node, NONE, NULL);
    return PyUnicode_Check(x) ? 0 : put_record(to, node, x);
  }
  if (PyTuple_Check(x)) {
    if (kind->tp_iter != PyTuple_Type.tp_iter) return 0;
    return put_items(to, node, NULL, ((PyTupleObject *)x)->ob_item, PyTuple_GET_SIZE(x), BY_RULE);
  }
  if (x == Py_None) return put_number(to, node, x);
  PyObject *values = PyObject_CallOneArg(fields, x);
  int is_put = values ? 0 : -1;
  if (values && PyTuple_CheckExact(values))
    is_put = put_items(to, node, NULL, ((PyTupleObject *)values)->ob_item, PyTuple_GET_SIZE(values), BY_RULE);
  Py_XDECREF(values);
  return is_put;
}

/* Has it no parts? */
static inline int is_number(PyObject *x) {
  return PyFloat_Check(x) || PyLong_Check(x) || (PyArray_API && Py_TYPE(x) == &PyArray_Type) || is_scalar(x);
}

static int put(struct writing *to, struct node *node, PyObject *x) {
  if (is_number(x)) return put_number(to, node, x);
  if (to->depth == MOST_DEPTH) return 0;
  to->depth++;
  Py_INCREF(x);
  int is_put = put_structure(to, node, x);
  Py_DECREF(x);
  to->depth--;
  return is_put;
}

/* Words on the way to a result. First the leaves of the result are read, with the members that the values of unions have. Then no word is
   needed any more, and what may run code of Python's, or its collector, is done. */

struct reading {
  struct scratch *scratch;
  union word *word;            /* the next one */
  struct part *part;           /* the next part of the result; NULL within boxes */
  PyObject **made;             /* its array, if it is one */
  PyObject **leaves;
  char *choices;
  Py_ssize_t count, room, choice_count, choice_room;
  PyObject **next;             /* leaf, */
  char *next_choice;           /* and choice, that is built */
  int depth, of_python;
  long const *lengths;
};

enum { MOST_MEMBERS = 127 };

static void *twice(struct scratch *scratch, void *from, size_t bytes) {
  void *room = allocated(scratch, 2 * bytes);
  if (room && bytes) memcpy(room, from, bytes);
  return room;
}

static int add_leaf(struct reading *from, PyObject *leaf) {
  if (!leaf) return 0;
  if (from->count == from->room) {
    PyObject **leaves = twice(from->scratch, from->leaves, from->room * sizeof *leaves);
    if (!leaves) return Py_DECREF(leaf), 0;
    from->leaves = leaves;
    from->room *= 2;
  }
  from->leaves[from->count++] = leaf;
  return 1;
}

static int add_choice(struct reading *from, Py_ssize_t index) {
  if (from->choice_count == from->choice_room) {
    char *choices = twice(from->scratch, from->choices, from->choice_room);
    if (!choices) return 0;
    from->choices = choices;
    from->choice_room *= 2;
  }
  from->choices[from->choice_count++] = (char)index;
  return 1;
}

static PyObject *taken(struct reading *from, struct part const *part) {
  switch (part->kind) {
  case REAL: return PyFloat_FromDouble(from->word++->d);
  case BOOLEAN: return PyBool_FromLong(from->word++->i != 0);
  case LENGTH: return PyFloat_FromDouble((double)from->lengths[-1 - part->shape[0]]);
  case TENSOR: break;
  default: return Py_NewRef(part->object);
  }
  void *entries = from->word++->p;
  PyObject *array = from->part ? *from->made : NULL;
  if (array) *from->made = NULL;
  if (!array) {
    Py_INCREF(part->object);
    array = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)part->object, part->rank, part->shape, NULL, NULL, 0, NULL);
    if (!array) return NULL;
  }
  if (!from->part || part->target < 0) memcpy(PyArray_DATA((PyArrayObject *)array), entries, PyArray_NBYTES((PyArrayObject *)array));
  PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
  return array;
}

/* Adds the leaves of a value: 1; 0 if it is nested too deeply; -1 if an exception was raised. */
static int take(struct reading *from, struct node *node) {
  union word *after = NULL;
  struct part *part_after = NULL;
  int is_taken = 1;
  if (from->depth++ == MOST_DEPTH) return 0;
  for (;;) {
    if (node->kind == PAIR) {
      struct node *first = node->first;
      if (first->kind == LEAF && first->part.kind == REAL && !from->part) is_taken = add_leaf(from, PyFloat_FromDouble(from->word++->d)) ? 1 : -1;
      else is_taken = take(from, first);
      if (is_taken != 1) break;
      node = node->rest;
    } else if (node->kind == UNION) {
      uintptr_t pointer = (uintptr_t)from->word++->p;
      if (from->part) part_after = from->part + 1, from->made++;
      from->part = NULL;
      if (!after) after = from->word;
      Py_ssize_t index = pointer - 1;
      if (pointer >= 4096) {
        from->word = (union word *)pointer;
        long tag = node->is_tagged ? from->word++->i : -1;
        for (index = 0; !node->members[index].words || (tag >= 0 && node->members[index].tag != tag);) index++;
      }
      if (!add_choice(from, index)) {
        is_taken = -1;
        break;
      }
      node = node->members[index].node;
    } else {
      if (node->kind == LEAF) {
        is_taken = add_leaf(from, taken(from, from->part ? from->part : &node->part)) ? 1 : -1;
        if (from->part) from->part++, from->made++;
      }
      break;
    }
  }
  if (after) from->word = after;
  if (part_after) from->part = part_after;
  from->depth--;
  return is_taken;
}

/* What has been read, as objects. NULL without an exception if that does not fit the structure of a model. */

static inline struct node *resolved(struct reading *from, struct node *node) {
  while (node->kind == UNION) node = node->members[(int)*from->next_choice++].node;
  return node;
}

static PyObject *built(struct reading *from, struct node *node);
static PyObject *built_of(struct reading *from, struct node *node);

static PyObject *record_of(struct node *head, PyObject *parts) {
  Py_ssize_t count = PyList_GET_SIZE(parts);
  if (head->is_tuple) return PyObject_CallMethod(head->object, "_make", "O", parts);
  if (count != PyTuple_GET_SIZE(head->names)) return PyErr_Format(PyExc_SystemError, "a record has other fields");
  return PyObject_Vectorcall(head->object, ((PyListObject *)parts)->ob_item, 0, head->names);
}

static PyObject *built_headed(struct reading *from, struct node *head, struct node *node) {
  PyObject *whole = head->role == DICT ? PyDict_New() : PyList_New(0);
  while (whole && (node = resolved(from, node))->kind == PAIR) {
    struct node *pair = head->role == DICT ? resolved(from, node->first) : NULL;
    PyObject *key = pair ? built(from, pair->first) : NULL;
    PyObject *part = pair && !key ? NULL : built(from, pair ? pair->rest : node->first);
    if (!part || (pair ? PyDict_SetItem(whole, key, part) : PyList_Append(whole, part)) < 0) Py_CLEAR(whole);
    Py_XDECREF(key);
    Py_XDECREF(part);
    node = node->rest;
  }
  if (whole && head->role == RECORD) Py_SETREF(whole, record_of(head, whole));
  return whole;
}

/* A value whose node is resolved. */
static PyObject *built_of(struct reading *from, struct node *node) {
  if (node->kind == LEAF) return Py_NewRef(*from->next++);
  if (node->kind == ATOM) {
    if (node->role == EMPTY) return PyList_New(0);
    if (node->role == NONE) Py_RETURN_NONE;
    return node->role == TUPLE ? PyTuple_New(0) : PyObject_GetAttrString(node->value, "name");
  }
  struct node *first = resolved(from, node->first);
  if (first->kind == ATOM && (first->role == DICT || first->role == RECORD)) return built_headed(from, first, node->rest);
  PyObject *list = PyList_New(0);
  while (list) {
    PyObject *part = built_of(from, first);
    if (!part || PyList_Append(list, part) < 0) Py_CLEAR(list);
    Py_XDECREF(part);
    node = resolved(from, node->rest);
    if (node->kind != PAIR) break;
    first = resolved(from, node->first);
  }
  if (!list || is_atom(node, EMPTY, NULL)) return list;
  PyObject *whole = is_atom(node, TUPLE, NULL) ? PyList_AsTuple(list) : built_of(from, node);
  if (node->kind != ATOM || node->role != TUPLE)
    for (Py_ssize_t i = PyList_GET_SIZE(list); whole && i > 0; i--)
      Py_SETREF(whole, PyTuple_Pack(2, PyList_GET_ITEM(list, i - 1), whole));
  Py_DECREF(list);
  return whole;
}

static PyObject *built(struct reading *from, struct node *node) { return built_of(from, resolved(from, node)); }

/* The same as a value of the language. */
static PyObject *value_of(struct reading *from, struct node *node) {
  node = resolved(from, node);
  if (node->kind == ATOM) return Py_NewRef(node->value);
  if (node->kind == LEAF) {
    PyObject *leaf = *from->next++;
    if (node->part.kind == TENSOR) return PyObject_CallOneArg(tensor, leaf);
    return Py_NewRef(node->value != Py_None ? node->value : leaf);
  }
  PyObject *list = PyList_New(0), *whole = NULL;
  while (list && node->kind == PAIR) {
    PyObject *part = value_of(from, node->first);
    if (!part || PyList_Append(list, part) < 0) Py_CLEAR(list);
    Py_XDECREF(part);
    node = resolved(from, node->rest);
  }
  if (!list) return NULL;
  if (node->kind == LEAF || node->kind == ATOM) whole = value_of(from, node);
  for (Py_ssize_t i = PyList_GET_SIZE(list); whole && i > 0; i--)
    Py_SETREF(whole, PyTuple_Pack(2, PyList_GET_ITEM(list, i - 1), whole));
  Py_DECREF(list);
  return whole;
}

static PyObject *like(struct reading *from, struct node *node, PyObject *model);

/* Counterparts of models, as a list. By the tuple rule the end is that of the last model. */
static PyObject *like_each(struct reading *from, struct node *node, PyObject *list, PyObject *const *models, Py_ssize_t count, int ending) {
  PyObject *parts = PyList_New(0);
  int is_by_rule = ending == BY_RULE && count;
  for (Py_ssize_t i = 0; parts && i < (list ? PyList_GET_SIZE(list) : count); i++) {
    int is_end = is_by_rule && i == count - 1;
    if (!is_end && (node = resolved(from, node))->kind != PAIR) {
      Py_CLEAR(parts);
      break;
    }
    PyObject *model = Py_NewRef(list ? PyList_GET_ITEM(list, i) : models[i]);
    PyObject *part = like(from, is_end ? node : node->first, model);
    Py_DECREF(model);
    if (!part || PyList_Append(parts, part) < 0) Py_CLEAR(parts);
    Py_XDECREF(part);
    if (!is_end) node = node->rest;
  }
  if (parts && !is_by_rule && !is_atom(resolved(from, node), ending == ENDS_TUPLE ? TUPLE : EMPTY, NULL)) Py_CLEAR(parts);
  return parts;
}

static PyObject *like_dict(struct reading *from, struct node *node, PyObject *model) {
  if (node->kind != PAIR || !is_atom(resolved(from, node->first), DICT, NULL)) return NULL;
  PyObject *whole = PyDict_New(), *key, *item;
  Py_ssize_t at = 0;
  node = resolved(from, node->rest);
  while (whole && PyDict_Next(model, &at, &key, &item)) {
    struct node *pair = node->kind == PAIR ? resolved(from, node->first) : node;
    PyObject *part = NULL, *own = NULL;
    Py_INCREF(key);
    Py_INCREF(item);
    if (pair->kind == PAIR && (own = built(from, pair->first))) part = like(from, pair->rest, item);
    if (!part || PyDict_SetItem(whole, key, part) < 0) Py_CLEAR(whole);
    Py_XDECREF(own);
    Py_XDECREF(part);
    Py_DECREF(key);
    Py_DECREF(item);
    if (whole) node = resolved(from, node->rest);
  }
  if (whole && !is_atom(node, EMPTY, NULL)) Py_CLEAR(whole);
  return whole;
}

/* The counterpart of a named tuple or a dataclass of a translated Python function's. */
static PyObject *like_record(struct reading *from, struct node *node, PyObject *model) {
  struct node *head = node->kind == PAIR ? resolved(from, node->first) : node;
  if (!is_atom(head, RECORD, (PyObject *)Py_TYPE(model))) return NULL;
  PyObject *parts, *whole, *items;
  if (head->is_tuple) {
    parts = like_each(from, node->rest, NULL, ((PyTupleObject *)model)->ob_item, PyTuple_GET_SIZE(model), ENDS_TUPLE);
  } else {
    if (!(items = PyList_New(0))) return NULL;
    for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(head->names); i++) {
      PyObject *field = PyObject_GetAttr(model, PyTuple_GET_ITEM(head->names, i));
      if (!field || PyList_Append(items, field) < 0) Py_CLEAR(items);
      Py_XDECREF(field);
    }
    parts = items ? like_each(from, node->rest, items, NULL, 0, ENDS_EMPTY) : NULL;
    Py_XDECREF(items);
  }
  whole = parts ? record_of(head, parts) : NULL;
  Py_XDECREF(parts);
  return whole;
}

/* The counterpart of a tuple. */
static PyObject *like_tuple(struct reading *from, struct node *node, PyObject *model) {
  int ending = from->of_python ? ENDS_TUPLE : BY_RULE;
  PyObject *whole = like_each(from, node, NULL, ((PyTupleObject *)model)->ob_item, PyTuple_GET_SIZE(model), ending);
  if (!whole) return NULL;
  PyObject *make = PyTuple_CheckExact(model) ? NULL : PyObject_GetAttrString(model, "_make");
  if (!make && PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_AttributeError)) {
    Py_DECREF(whole);
    return NULL;
  }
  PyErr_Clear();
  Py_SETREF(whole, make ? PyObject_CallOneArg(make, whole) : PyList_AsTuple(whole));
  Py_XDECREF(make);
  return whole;
}

/* The counterpart of a dataclass of a session's procedure. */
static PyObject *like_dataclass(struct reading *from, struct node *node, PyObject *model, PyObject *values) {
  PyObject *parts = like_each(from, node, NULL, ((PyTupleObject *)values)->ob_item, PyTuple_GET_SIZE(values), BY_RULE);
  PyObject *whole = parts ? PyObject_CallFunctionObjArgs(copied, model, parts, NULL) : NULL;
  Py_XDECREF(parts);
  return whole;
}

static PyObject *like_structure(struct reading *from, struct node *node, PyObject *model) {
  if (PyList_Check(model)) return like_each(from, node, model, NULL, 0, ENDS_EMPTY);
  if (from->of_python && PyDict_CheckExact(model)) return like_dict(from, node, model);
  if (PyTuple_Check(model) && (PyTuple_CheckExact(model) || !from->of_python)) return like_tuple(from, node, model);
  if (model == Py_None) return built_of(from, node);
  if (from->of_python) return like_record(from, node, model);
  PyObject *values = PyObject_CallOneArg(fields, model), *whole = NULL;
  if (values) whole = PyTuple_CheckExact(values) ? like_dataclass(from, node, model, values) : built_of(from, node);
  Py_XDECREF(values);
  return whole;
}

/* A sensitivity of a Python value, as a value of the same structure (`like` of convert.py). */
static PyObject *like(struct reading *from, struct node *node, PyObject *model) {
  node = resolved(from, node);
  if (is_number(model)) return built_of(from, node);
  if (from->depth == MOST_DEPTH) return NULL;
  from->depth++;
  PyObject *whole = like_structure(from, node, model);
  from->depth--;
  return whole;
}

/* Types, from their description. */

/* A part from (kind, constant or dtype, shape, target). */
static int read_part(PyObject *from, struct part *part) {
  PyObject *shape, *object;
  if (!PyArg_ParseTuple(from, "iOO!n", &part->kind, &object, &PyTuple_Type, &shape, &part->target)) return 0;
  part->object = Py_NewRef(object);
  part->rank = (int)PyTuple_GET_SIZE(shape);
  part->shape = PyMem_Calloc(2 * part->rank + 1, sizeof(npy_intp));
  if (!part->shape) return PyErr_NoMemory() != NULL;
  part->measured = part->shape + part->rank;
  if (part->kind == TENSOR && !PyArray_API && _import_array() < 0) return 0;
  if (part->kind == TENSOR && !PyArray_DescrCheck(object)) return PyErr_Format(PyExc_TypeError, "a tensor has a dtype") != NULL;
  part->is_sized = 1;
  for (int i = 0; i < part->rank; i++) {
    part->shape[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
    part->is_sized &= part->shape[i] >= 0;
  }
  return !PyErr_Occurred();
}

static void free_part(struct part *part) {
  Py_XDECREF(part->object);
  PyMem_Free(part->shape);
}

static struct node *numbered(struct node *nodes, Py_ssize_t count, Py_ssize_t index) {
  if (0 <= index && index < count) return &nodes[index];
  PyErr_SetString(PyExc_IndexError, "there is no such node");
  return NULL;
}

/* A node from (PAIR, first, rest), (ATOM, role, symbol or class, names, value, is_tuple), (LEAF, part, value) or (UNION, is_tagged,
   (node, words, tag) for each member); nodes are numbers. */
static int read_node(PyObject *from, struct node *nodes, Py_ssize_t count, struct node *node) {
  PyObject *object, *names, *value, *part, *members;
  Py_ssize_t first, rest;
  if (!PyTuple_Check(from) || !PyTuple_GET_SIZE(from)) return PyErr_Format(PyExc_TypeError, "a node is a tuple") != NULL;
  node->kind = (int)PyLong_AsLong(PyTuple_GET_ITEM(from, 0));
  switch (node->kind) {
  case PAIR:
    if (!PyArg_ParseTuple(from, "inn", &node->kind, &first, &rest)) return 0;
    return (node->first = numbered(nodes, count, first)) && (node->rest = numbered(nodes, count, rest));
  case ATOM:
    if (!PyArg_ParseTuple(from, "iiOOOp", &node->kind, &node->role, &object, &names, &value, &node->is_tuple)) return 0;
    node->object = Py_NewRef(object);
    node->names = Py_NewRef(names);
    node->value = Py_NewRef(value);
    return 1;
  case LEAF:
    if (!PyArg_ParseTuple(from, "iO!O", &node->kind, &PyTuple_Type, &part, &value)) return 0;
    node->value = Py_NewRef(value);
    return read_part(part, &node->part);
  }
  if (!PyArg_ParseTuple(from, "ipO!", &node->kind, &node->is_tagged, &PyTuple_Type, &members)) return 0;
  node->count = PyTuple_GET_SIZE(members);
  node->members = PyMem_Calloc(node->count + 1, sizeof *node->members);
  if (!node->members) return PyErr_NoMemory() != NULL;
  if (node->count > MOST_MEMBERS) return PyErr_Format(PyExc_ValueError, "there are too many members") != NULL;
  for (Py_ssize_t i = 0; i < node->count; i++) {
    struct member *member = &node->members[i];
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(members, i), "nnl", &first, &member->words, &member->tag)) return 0;
    if (!(member->node = numbered(nodes, count, first))) return 0;
  }
  return 1;
}

static void free_node(struct node *node) {
  Py_XDECREF(node->object);
  Py_XDECREF(node->names);
  Py_XDECREF(node->value);
  free_part(&node->part);
  PyMem_Free(node->members);
}
