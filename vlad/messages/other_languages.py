"""Words of other languages and libraries, with their counterparts: of Scheme and its SRFIs, Racket, Common Lisp, Clojure,
Haskell, Python, Julia, NumPy, JAX and PyTorch.

In: an unknown word.  Out: a hint, if the word is in the table. Called by spelling.py, where an error
is made. tests/test_spelling.py has the lists of words, and checks that the suggested names exist.

The file is long because it is a table of words.
"""

from __future__ import annotations

import functools
import re

CONTINUATIONS = (
    "write `(reset E ...)`, and in it `(shift K E ...)`: K is the rest of the evaluation up to the `reset`"
)
ENDING = "a loop ends where it does not call itself; `find` and `any` end early; `(shift k V)` ends a `reset` with V"
ERRORS = "write `(guard (e (TEST E ...) ...) BODY ...)`, as in R7RS; `(error-message e)` and `(error-code e)` are of errors"
FILES = "`load-tensor` and `load-csv` read data, `save-tensor` writes it, `(read-real)` reads a number that is typed"
TABLES = '`(load-csv "NAME.csv")` reads numbers, `(load-table "NAME.csv")` columns with titles'
FORMAT = '`(display x)` prints one value, `(newline)` ends a line; `(format "~a ~a" x y)` makes a text'
FUNCTIONS = "write `(lambda (PARAMETER ...) BODY)`"
JIT = "what runs often is compiled automatically; in Python, `vlad.compile` does so at once"
LOOPS = "a loop is a named `let` or a `do`; `map`, `for-each`, `filter` and `fold` go over a list, `(build-list n f)` makes one"
CHARACTERS = 'a character is a string of one: `#\\a` is "a", `(string-ref s i)` gives one, `string->list` a list of them'
CELLS = "`(ref v)` makes a cell, `(deref r)` reads it, `(set-ref! r v)` and `(update-ref! r f)` change it"
PURE = (
    "no value ever changes, unless it is a cell, `(ref v)`: bind a new name with `let`, or hand the new value to the next turn "
    "of a loop"
)
RANDOM = "random numbers come from a key: `(uniform (random-key 1) 3)` makes three, `normal` and `random-integer` others"
RECORDS = (
    "write `(define-record-type NAME (MAKER FIELD ...) TEST (FIELD ACCESSOR) ...)`, for a type of records"
)
SETS = "there are no sets: a list, with `member` and `delete-duplicates`"
SEVERAL = "write `(receive (a b) VALUE BODY)`, where VALUE returns `(values a b)`, which is the same as `(cons a b)`"
STREAMS = "streams are made by `cons-stream` and `stream-iterate`, and read by `stream-car`, `stream-cdr`, `stream-take`"
TABLES = "`(table KEY VALUE ...)` makes a table, `(table-ref t KEY)` finds, `(table-set t KEY VALUE)` gives another one"
TESTS = "write `(assert TEST)`, or `(assert (close? x y 1e-9))` for what is rounded"
VECTORS = (
    "`#(1 a)` and `(vector ...)` are sequences of anything, with `vector-ref`, `vector-set`, `vector-map`; `#[1 2]` is a tensor "
    "of numbers, with `tensor-ref`, `tensor-set`, `map-tensor`"
)
CHANGED = "`(vector-set v k x)` gives a vector like v, with x at position k; none ever changes"

# Hints for single words.
WORDS: dict[str, str] = {
    "call-with-output-string": "`(with-output-to-string (lambda () BODY ...))` is the text that the body writes",
    "list-set!": "write `(list-set l k x)`, which gives another list; none ever changes",
    "cond-expand": "there is one implementation of the language: write what is wanted, without a choice",
    "!=": "write `(not (= a b))`",
    "//": "a comment begins with `;`; a quotient is `(quotient a b)`",
    "not=": "write `(not (= a b))`",
    "normalize": "`unit-vector` gives a vector the length 1; `standardized` gives a tensor the mean 0 and the variance 1",
    "%": "write `(modulo a b)`",
    "&&": "write `(and a b)`",
    "": "write `(or a b)`",  # ||
    "**": "write `(expt x y)`",
    "->": "a procedure is `(lambda (x) BODY)`",
    "<-": "write `(define NAME VALUE)`, or `(let ((NAME VALUE)) BODY)` for a local name",
    "==": "write `(= a b)` for numbers, `(equal? a b)` for anything",
    "^": "write `(expt x y)`",
    "=>": "`=>` stands in a clause of `cond`: `(TEST => F)`",
    "add-between": "write `(cdr (append-map (lambda (x) (list between x)) l))`",
    "interpose": "write `(cdr (append-map (lambda (x) (list between x)) l))`",
    "order-of-magnitude": "write `(floor (log10 x))`",
    "rsqrt": "write `(/ 1 (sqrt x))`",
    "symbol": "write `string->symbol`, or `'NAME`",
    "negative": "write `(- x)`; the test is `(negative? x)`",
    "positive": "write `x` itself; the test is `(positive? x)`",
    "reversed": "write `(reverse l)`; `(flipped t)` is for tensors",
    "copy": "no value ever changes, so none is copied",
    "deepcopy": "no value ever changes, so none is copied",
    "nonzero": "`where` chooses entry by entry; the indices themselves are not available",
    "argwhere": "`where` chooses entry by entry; the indices themselves are not available",
    "digitize": "write `(searchsorted a x)`, where a is the ascending vector of edges",
    "fzero": "write Newton's step, `(- x (/ (f x) ((derivative f) x)))`, in a loop",
    "root": "write Newton's step, `(- x (/ (f x) ((derivative f) x)))`, in a loop",
    "roots": "write Newton's step, `(- x (/ (f x) ((derivative f) x)))`, in a loop",
    "fsolve": "write Newton's step, `(- x (/ (f x) ((derivative f) x)))`, in a loop",
    "find-root": "write Newton's step, `(- x (/ (f x) ((derivative f) x)))`, in a loop",
    "solve-for": "write Newton's step, `(- x (/ (f x) ((derivative f) x)))`, in a loop",
    "simplify": "expressions are not rewritten: `(derivative f)` returns a procedure, which `vlad show` prints as core",
    "arctan": "write `(atan y)`",
    "array": "a tensor is written `#[1 2 3]`, or `(tensor '(1 2 3))`",
    "clip": "write `(clamp x low high)`",
    "concat": "write `append` for lists, `string-append` for strings",
    "diag": "`(diagonal t)` takes the diagonal of a matrix; `(* v (eye n))` makes a matrix of one",
    "doc": "`vlad doc NAME`, at a prompt `,doc NAME` or `?NAME`, explains a name",
    "e": "write `(exp 1)`",
    "eig": "write `(eigh a)`, for a symmetric matrix: the pair of the eigenvalues and the eigenvectors",
    "eigenvalues": "write `(eigvalsh a)`, for a symmetric matrix",
    "elif": "write `(cond (TEST VALUE) ... (else VALUE))`",
    "else": "`else` begins the last clause of a `cond` or a `case`",
    "grad": "write `(gradient f)`",
    "help": "`vlad doc NAME`, at a prompt `,doc NAME` or `?NAME`, explains a name; there, `,help` lists the commands",
    "isnan": "`(nan? x)` tests a number; in a tensor `(= t t)` is false there",
    "len": "write `length` for lists, `size` or `shape` for tensors",
    "ln": "write `log`",
    "load": 'write `(import "FILE")`, or at a prompt `,load FILE`; `load-tensor` and `load-csv` read data',
    "mod": "write `modulo`",
    "nth": "write `(list-ref LIST I)`, which counts from 0",
    "plot": "at a prompt, `,plot F LOW HIGH` draws a procedure",
    "pow": "write `(expt x y)`",
    "read-csv": TABLES,
    "return": "the value of a procedure is that of its last expression",
    "save-csv": '`(save-tensor "NAME.csv" t)` writes a table',
    "save": "at a prompt, `,save FILE` writes what you entered; `save-tensor` writes data",
    "slogdet": "write `(log-det a)`, the logarithm of the absolute determinant",
    "sqr": "write `square`",
    "str": "write `number->string` or `symbol->string`",
    "then": "write `(if TEST THEN ELSE)`, without a word between",
    "var": "write `(define NAME VALUE)`, or `(let ((NAME VALUE)) BODY)` for a local name; or `(variance t)`",
    "||": "write `(or a b)`",
}

# Hints for several words each.
SHARED: tuple[tuple[str, str], ...] = (
    ("write `#t`", "true True otherwise t"),
    ("write `#f`", "false False"),
    ("write `'()`, or `#f`", "None Nothing nothing missing undefined void"),
    ("write `'()`, and `(null? x)` to ask for it", "nil null empty Nil"),
    ("write `(list? l)`", "proper-list? listp seq? dotted-list? circular-list? sequence?"),
    ("write `(pair? x)`", "cons? consp"),
    ("write `(not (pair? x))`", "not-pair? atom?"),
    ("write `(procedure? f)`", "functionp fn? callable"),
    ("write the value itself; where there may be none, `#f`", "Just Some"),
    ("write `(if x A B)`: all but `#f` is true", "bool some?"),
    ("write `'()` where nothing is to be done", "pass"),
    ("write `cons*`", "list*"),
    ("write `(null? l)`", "empty? empty-stream? null-list? endp isempty nil?"),
    ("write `(define NAME VALUE)`", "defparameter defconstant defvar const val"),
    (
        "write `(define (NAME PARAMETER ...) BODY)`",
        "def defn defn- defun fun letfn named-lambda define-integrable func",
    ),
    (FUNCTIONS, "fn function λ \\ thunk cut cute funcall labels flet"),
    ("write `(letrec ((NAME VALUE) ...) BODY)`, or `define` inside the body", "rec declare"),
    ("call it: `(f x)`", "invoke send trampoline"),
    (
        "write `(write x)` or `(display x)`",
        "print println prn pr princ prin1 displayln writeln puts echo putStrLn show write-shared "
        "write-simple write-line pretty-print pp pprint debug_print",
    ),
    (FORMAT, "printf fprintf eprintf sprintf fmt terpri pr-str"),
    ("write `(display x)`", "write-u8 write-bytevector flush-output flush-output-port"),
    (
        "write `(write x)`, or `vlad show`; at a prompt `,help` lists the commands that describe values",
        "repr inspect dir",
    ),
    (
        "there are no symbolic expressions: evaluate at numbers, `(round-to 6 x)` shortens them",
        "show-expression print-expression literal-function literal-number series:for-each ->tex ->infix",
    ),
    ("write `(integrate f a b n)`", "definite-integral"),
    ('write `(components u)`, after `(import "mechanics")`', "up->list down->list s->list"),
    ('write `(structure? x)`, after `(import "mechanics")`', "tuple? s:structure?"),
    ('write `(ref u i)`, after `(import "mechanics")`', "s:ref s:nth"),
    ('write `(tuple-length u)`, after `(import "mechanics")`', "s:length s:dimension"),
    (
        'a change of coordinates is a procedure of a local tuple, as `p->r`, for `F->C`: `(import "mechanics")`',
        "frame make-frame coordinate-system coordinate-system-at define-coordinates",
    ),
    ("write `(exit)`, or `(exit STATUS)`", "quit halt"),
    (
        "write `(error MESSAGE VALUE ...)`",
        "throw raise-argument-error ex-info assertion-violation syntax-error fail guarantee raise-user-error",
    ),
    (
        ERRORS,
        "try except catch with-handlers handler-case "
        "condition? condition/report-string access-condition exn? exn-message ex-message "
        "ignore-errors",
    ),
    ("write `(with-cleanup CLEANUP BODY ...)`", "finally unwind-protect"),
    (
        CONTINUATIONS,
        "let/cc call-with-prompt make-prompt-tag reset0 shift0 prompt prompt0 control control0 abort",
    ),
    ("write `(with-escape f)`, where f takes the escape", "call/ec let/ec call-with-escape-continuation"),
    ("write `(generate f)`, the stream of what f yields", "yield generator make-generator"),
    (ENDING, "break continue block return-from"),
    (
        PURE,
        "set! setq setf fluid-let alter inc! incf decf del push pop push! pop! global "
        "nonlocal assoc! transient persistent! rplaca rplacd rotatef update! update-in",
    ),
    (
        CELLS,
        "ref-set swap! reset! volatile! vswap! box unbox box? atom set-box! make-cell cell-ref cell-set! ref-ref",
    ),
    (
        "`(make-parameter v)` makes a parameter p, and within `(parameterize ((p w)) BODY ...)` `(p)` is w",
        "parameter binding",
    ),
    (
        LOOPS,
        "for while until loop dotimes dolist doseq doall dorun foreach repeat-until fori_loop while_loop "
        "in-range in-list in-naturals in-vector in-hash for-loop recur enumerate sequence->list collect "
        "times",
    ),
    (
        "write `(fold f start l)`, which returns the last value; `(build-list n f)` and `map` return all of them",
        "scan reductions scanl scanr accumulate for/fold reduce-right pair-fold pair-fold-right foldl1 "
        "foldr1",
    ),
    ("write `(map f l)`", "mapcar mapc mapv map-in-order for/list for*/list pair-for-each fmap keep"),
    ("write `(append-map f l)`", "mapcat mapcan concatMap flatmap flat-map bind"),
    ("write `(filter test l)`", "filterv remove-if-not"),
    ("write `(remove test l)`", "remove-if"),
    ("write `(any test l)`", "some ormap for/or exists"),
    ("write `(every test l)`", "every? andmap for/and forall all"),
    ("write `(list-sum (map f l))`", "for/sum sum-over sigma sum-by"),
    ("write `(list-product (map f l))`", "for/product"),
    (
        "write `(find test l)`; `member` and `assoc` find what is equal to a value",
        "findf memf assf find-if for/first detect",
    ),
    ("write `(list-index test l)`", "position index index-of position-if"),
    ("write `(member x l)`", "contains? elem in includes? include? includes"),
    ("write `(map-indexed f l)`", "map-with-index each-with-index"),
    ("write `(take-while test l)`", "takef takeWhile"),
    ("write `(drop-while test l)`", "dropf dropWhile"),
    ("write `(take l k)`", "list-head sublist subvec"),
    ("write `(drop l k)`", "nthcdr nthrest"),
    (
        "write `(drop-right l 1)`",
        "butlast except-last-pair init",
    ),
    ("write `car` or `first`", "head fst peek hd"),
    ("write `cdr` or `rest`", "tail next tl"),
    ("write `(cdr p)`", "snd"),
    ("write `(list-ref l i)`, which counts from 0", "sixth seventh eighth ninth tenth elt"),
    ("write `(list (last l))`", "last-pair"),
    ("write `(cons b a)`", "xcons"),
    ("write `cons` or `append`", "conj insert into acons list-append extend vector-push"),
    ("write `(build-list n f)`", "make-initialized-list build-string"),
    ("write `(make-list n x)`", "replicate"),
    ("write `(range start end)`", "inclusive-range enumFromTo xrange"),
    ("write `(stream-iterate f x)`; a list ends", "circular-list cycle repeatedly lazy-seq lazy-cat"),
    (
        STREAMS,
        "stream stream-first stream-rest stream-head stream-tail stream-pair? empty-stream "
        "the-empty-stream for/stream lazy",
    ),
    (
        "write `(delay x)`, and `(force p)`",
        "promise eager realized? deliver future touch",
    ),
    (
        "every procedure is computed anew; a value that is needed again is bound with `let`",
        "memoize memo lru_cache cache",
    ),
    ("write `(unzip l)`", "unzip1 unzip2 unzip3 unzip4 unzip5 car+cdr"),
    ("write `(zip a b)`", "zipWith interleave zip-with"),
    ("write `(map cons keys values)`; " + TABLES, "zipmap"),
    ("write `(delete-duplicates l)`", "remove-duplicates distinct dedupe unique? nub check-duplicates"),
    ("write `(delete x l)`", "remove* remq remv"),
    ("write `(partition test l)`", "partition-by group-by"),
    (
        "`(batches data n)` makes batches of tensors; a list is cut by `take` and `drop`",
        "partition-all chunks chunked DataLoader Dataset dataloader",
    ),
    (
        "write `(sort l less?)`; `(sorted t)` sorts a tensor",
        "list-sort sort-by stable-sort merge merge-sort vector-sort",
    ),
    (
        "write `(permutation (random-key 1) n)`; `(shuffled key data)` puts data in random order",
        "shuffle permutations randperm rand-nth choice random-choice sample combinations cartesian-product",
    ),
    ("write `(compose f g)`", "comp compose1 pipe ->> as-> some-> some->> cond-> doto .. o"),
    (
        "write `(lambda (x y) (f x y))` with the value in the place of a parameter, or `((curry f) x)`",
        "partial curryr bind-first",
    ),
    ("write `identity`", "id I"),
    ("write `(constantly x)`", "const-function always"),
    ("write `(lambda (x) (not (f x)))`", "negate complement conjoin disjoin"),
    ("write `(lambda (x) (list (f x) (g x)))`", "juxt"),
    ("write `(if TEST (let ((NAME VALUE)) ...) ELSE)`", "if-let when-let and-let*"),
    ("write `(if (not TEST) THEN ELSE)`, `(when (not TEST) ...)`, or `unless`", "if-not when-not"),
    ("write `(cond (TEST VALUE) ... (else VALUE))`", "elseif elsif else-if condp switch ifelse"),
    (
        "write `(match VALUE (PATTERN BODY) ...)`; a parameter may be a pattern, too: `(lambda ((list x y)) BODY)`",
        "match-let match-define match-lambda destructuring-bind of data type newtype",
    ),
    (
        SEVERAL,
        "multiple-value-bind multiple-value-list",
    ),
    (
        RECORDS,
        "define-record define-structure define-struct struct defstruct struct-copy "
        "defrecord deftype class dataclass namedtuple object new make-object this self super inherit "
        "extends definterface defprotocol extend-type proxy defmulti defmethod multimethod "
        "define/public object% super-new send-super isinstance property staticmethod field setattr "
        "getattr attr",
    ),
    (
        TABLES,
        "dict Dict get get-in gethash keys vals select-keys update assoc-in dissoc frequencies counter "
        "alist-cons alist-copy alist-delete items lookup assoc-ref assq-ref",
    ),
    (
        SETS,
        "set list->set lset<= lset= lset-adjoin lset-union lset-intersection lset-difference lset-xor "
        "frozenset disj",
    ),
    (VECTORS, "vec aref f64vector bytes nparray matrix-ref"),
    ("write `(list a b)`", "tuple Tuple pair"),
    (
        "a matrix is a tensor, `#[[1 2] [3 4]]`, or for the procedures with `matrix` in their names a list of rows",
        "matrix matrix*",
    ),
    (
        "macros are defined by `syntax-rules`: `(define-syntax NAME (syntax-rules () (PATTERN TEMPLATE)))`",
        "define-macro defmacro syntax-case with-syntax define-syntax-rule define-syntax-parser syntax "
        "datum->syntax syntax->datum er-macro-transformer sc-macro-transformer rsc-macro-transformer "
        "gensym generate-temporary generate-temporaries begin-for-syntax macrolet macroexpand "
        "macroexpand-1 identifier? identifier-syntax",
    ),
    (
        'write `(import "FILE")`, and `(export NAME ...)` in that file',
        "require use use-modules module module+ provide define-library define-module library ns in-ns "
        "include-ci from package namespace contract",
    ),
    (
        "a program has no `eval`; a procedure is handed over as a value",
        "eval interaction-environment exec scheme-report-environment null-environment the-environment "
        "nearest-repl/environment compile-string",
    ),
    (
        "there are no types to declare",
        "define/contract contract-out the-type any/c ->* listof : Optional typeof proclaim",
    ),
    (
        "write `real?`, `tensor?`, `string?`, `symbol?`, `boolean?`, `pair?`, `procedure?`",
        "type-of isa? instance? class-of kind-of",
    ),
    ("write `(begin A B ...)`", "progn prog1 seq"),
    ("write `(f x)` behind the last form of the program; there is no `main`", "main"),
    ("`(command-line-arguments)` are the words behind the script's name", "command-line argv"),
    (
        "a program is pure and does not see the time; `,time` and `,profile` at a prompt measure",
        "time runtime real-time current-time current-second current-jiffy jiffies-per-second "
        "current-seconds current-milliseconds sleep current-inexact-milliseconds perf_counter",
    ),
    (
        "a program does not see its surroundings; Python can hand them over",
        "get-environment-variable getenv get-environment-variables features system shell",
    ),
    (
        "sessions in Python may be used by several threads; a program has none",
        "thread spawn place agent send-off dosync chan async await",
    ),
    (
        "`(parallel-map f l)` divides a list among the cores of `vlad --workers 4`",
        "parallel pmap Pool futures",
    ),
    (
        TESTS,
        "test test-begin test-end test-case test-group test-error define-test deftest check is are rackunit "
        "expect should assertion assertTrue assertEqual allclose isclose array_equal approx",
    ),
    ("write `(trace f)` at a prompt: `,trace f`", "untrace trace-define"),
    # Numbers
    ("write `(+ x 1)`", "add1 1+ inc succ ++"),
    ("write `(- x 1)`", "sub1 -1+ 1- dec pred --"),
    ("write `+`", "add flo:+ fl+ fx+ fxadd1 int:+"),
    ("write `-`", "subtract sub fl- fx- flo:-"),
    ("write `*`", "multiply mul fl* fx* flo:*"),
    ("write `/`", "divide true_divide div fl/ rational"),
    ("write `(/ 1 x)`", "reciprocal recip"),
    (
        "write `(quotient a b)`",
        "quot floor_divide exact-integer-quotient",
    ),
    ("write `(remainder a b)`", "rem fmod"),
    ("write `(cons (quotient a b) (remainder a b))`", "divmod"),
    ("write `abs`", "absolute fabs"),
    ("write `sign`", "sgn signum"),
    ("write `ceiling`", "ceil exact-ceiling"),
    ("write `round`", "rint around exact-round nearbyint"),
    ("write `floor`", "exact-floor"),
    ("write `truncate`", "trunc fix exact-truncate"),
    ("write `(zero? x)`", "zerop"),
    ("write `(positive? x)`", "pos? plusp"),
    ("write `(negative? x)`", "neg? minusp"),
    ("write `(not (any test l))`", "not-any?"),
    ("write `(not x)`", "false? not? logical_not"),
    ("write `(equal? x #t)`", "true?"),
    ("write `number?` or `real?`", "numberp float? flonum? fixnum? isreal"),
    (
        "write `(integer? x)`",
        "exact-nonnegative-integer? exact-rational? natural? nonnegative-integer? isinteger",
    ),
    (
        "numbers are reals: nothing is to be converted",
        "float int real->double-flonum double long",
    ),
    ("there are real numbers only", "make-rectangular make-polar real-part imag-part angle complex imag"),
    ("write `(floor (sqrt n))`", "isqrt"),
    ("write `(expt x 2)` or `square`", "sq squared"),
    ("write `(expt x y)`", "power float_power exponentiate"),
    ("write `(logsumexp (tensor (list a b)))`", "logaddexp"),
    ("write `acos`", "arccos"),
    ("write `asin`", "arcsin"),
    ("write `acosh`", "arccosh"),
    ("write `asinh`", "arcsinh"),
    ("write `atanh`", "arctanh"),
    ("write `(atan y x)`", "arctan2 atan2"),
    ("write `(/ (* pi x) 180)`", "deg2rad radians to-radians degrees->radians"),
    ("write `(/ (* 180 x) pi)`", "rad2deg degrees to-degrees"),
    ("write `(max a b)`; `(maximum t)` is the largest entry of a tensor", "fmax amax nanmax"),
    ("write `(min a b)`; `(minimum t)` is the smallest entry of a tensor", "fmin amin nanmin"),
    ("write `(/ 1 0)`", "inf infinity Infinity +inf Inf"),
    ("write `(/ 0 0)`", "nan NaN"),
    ("`(infinite? x)` tests a number", "isinf"),
    ("`(finite? x)` tests a number", "isfinite"),
    ("write `pi`", "pi.f M_PI PI"),
    (
        "there are no bits; `quotient` and `modulo` by powers of 2 take an integer apart",
        "bitwise-and bitwise-or bitwise-xor bitwise-not arithmetic-shift shift-left shift-right bit-and "
        "bit-or bit-xor bit-count ash logand logior logxor bin hex oct",
    ),
    (
        RANDOM,
        "rand randn randint rand-int random random-real random-source seed srand manual_seed default_rng "
        "random-seed PRNGKey fold_in bernoulli categorical truncated_normal exponential poisson gauss "
        "gaussian randomize make-random-source random-source-randomize!",
    ),
    # Strings and symbols
    ("write `number->string` or `symbol->string`", "to-string tostring toString name chr ord"),
    ("write `string->symbol`", "keyword intern string->keyword keyword?"),
    (
        "write `string-append`",
        "str-append string-append* strcat string-concat string-builder",
    ),
    ("write `(string-join l between)`", "join str-join"),
    ("write `(substring s start end)`", "subs str-slice slice-string string-take string-drop"),
    (
        "write `(string-search pattern text)`",
        "string-contains string-contains? string-search-forward string-search-all "
        "startswith endswith str-contains starts-with? ends-with? regexp "
        "regexp-match re-find",
    ),
    (
        "`string-split` and `string->list` take a string apart; `string-search` and `substring` cut it",
        "string-tokenize string-trim string-replace replace regexp-replace split-string strip",
    ),
    ("write `string-downcase`", "lower lowercase lower-case toLowerCase"),
    ("write `string-upcase`", "upper uppercase upper-case toUpperCase"),
    ("write `(string-null? s)`", "string-empty? blank?"),
    ("write `string-pad-left`, or `string-pad-right`", "rjust ljust string-pad"),
    ("write `(string<? (symbol->string a) (symbol->string b))`", "symbol<?"),
    (
        "write `(equal? a b)`",
        "eql equal equalp list= string-equal eq =? ==? equals isEqual",
    ),
    # Derivatives
    ("write `(gradient f)`", "nabla backward autograd gradients"),
    ("write `(value-and-gradient f)`", "value_and_grad value-and-grad valgrad"),
    ("write `(derivative f)`", "D deriv d/dx differentiate ddx fprime derivative-at fderiv nderiv"),
    ("write `(jacobian-F f)`", "jacfwd"),
    ("write `(jacobian-R f)`", "jacrev"),
    ("write `(jvp f x v)`, or `(cdr (vjp f x))` for the transposed map", "linearize linear_transpose"),
    (
        "write `(with-derivative f #:forward (lambda (x dx) ...))` or `#:reverse`",
        "custom_jvp custom_vjp defjvp defvjp custom-gradient custom_gradient",
    ),
    ("write `(stop-gradient x)`", "detach stop_grad no_grad stop_gradient requires_grad"),
    (
        "nothing is recorded for derivatives: `(gradient f)` is of a procedure, and each use of it computes anew",
        "zero_grad Variable requires_grad_ retain_graph tape GradientTape",
    ),
    (
        "write `(checkpointed f)`: its derivative computes f again, instead of keeping what it computes",
        "checkpoint remat",
    ),
    (JIT, "jit compile autocast make_jaxpr vectorize functorch block_until_ready njit numba"),
    (
        "expressions are not rewritten: `(derivative f)` returns a procedure, and `vlad show` prints what it computes",
        "symbolic",
    ),
    ("write `(integrate f a b n)`", "integral quad quadrature simpson"),
    (
        "limits are not computed; `(taylor-coefficients f x n)` gives the expansion of f at x",
        "limit series taylor",
    ),
    # Tensors
    (
        "a tensor is written `#[1 2 3]`, or `(tensor '(1 2 3))`",
        "asarray Tensor as-tensor list->array ndarray list->tensor from-list array->tensor "
        "make-tensor DoubleTensor",
    ),
    (
        "a number in a text is a real, and Python arrays come in as tensors; no module is to be named here",
        "np numpy jnp jax torch tf math lax nn linalg functional optim scipy pandas pd plt F",
    ),
    ("write `(zeros (shape t))`", "zeros_like zeros-like empty_like"),
    ("write `(ones (shape t))`", "ones_like ones-like"),
    ("write `(full (shape t) x)`", "full_like full-like"),
    ("write `(zeros dims)`", "make-array allocate"),
    ("write `(length (shape t))`, which is `(rank t)`", "ndim ndims dim"),
    ("write `(size t)`", "numel nelements"),
    (
        "write `(dtype t)`, `(as-type t 'float32)`",
        "float32 float64 int32 int64 astype dtypes half double-precision",
    ),
    ("write `(tensor-ref t i)`", "item array-ref index_select getindex"),
    ("write `(tensor->list t)`", "tolist to-list"),
    (
        "write `(reshape t dims)`",
        "view ravel flatten-tensor squeeze unsqueeze expand_dims newaxis atleast_1d atleast_2d resize "
        "contiguous",
    ),
    ("write `(transpose t #:axes '(1 0))`", "permute swapaxes moveaxis rot90 adjoint"),
    ("write `(concatenate (list a b) #:axis 0)`", "cat vstack hstack dstack column_stack row_stack"),
    ("write `(split t n #:axis 0)`", "chunk array_split hsplit vsplit dsplit tensor_split"),
    (
        "write `(broadcast-to t dims)`; `(repeat t n #:axis 0)` repeats each entry",
        "expand tile broadcast broadcast_to",
    ),
    ("write `(flipped t #:axis 0)`", "flipud fliplr flip-axis"),
    ("write `(where c a b)`", "select masked_fill masked_select choose mask putmask heaviside"),
    ("write `(gather t indices #:axis 0)`", "take_along_axis dynamic_slice"),
    (
        "write `(scatter-add t indices updates #:axis 0)`",
        "scatter segment_sum index_add index-update",
    ),
    ("write `(top-k t k)`", "topk top_k nlargest"),
    ("write `(sqrt (variance t))`", "std stddev standard-deviation"),
    ("write `(quantile t q)`, for a share q of the entries", "percentile nanmedian nanquantile"),
    ("write `(covariance x)`, or `(covariance x y)` of two vectors", "cov"),
    ("write `(correlation x)`, or `(correlation x y)` of two vectors", "corr corrcoef cor pearsonr"),
    ("write `(trapezoid y)`", "trapz"),
    ("write `(- (maximum t) (minimum t))`", "ptp"),
    ("write `(sum (where c 1 0))`", "count_nonzero"),
    ("write `(sum (where (= t t) t 0))`", "nansum nanmean nan_to_num"),
    ("write `matmul`", "mm bmm mv addmm chain_matmul matrix-multiply mat-mul @ dgemm gemm"),
    ("write `(dot a b)`", "vdot inner inner-product ddot"),
    ("write `(inverse a)`; `(solve a b)` for equations", "inv mldivide"),
    ("write `(log-det a)`", "logdet log_det"),
    ("write `(eigvalsh a)`, for a symmetric matrix", "eigvals eigen eigenvectors"),
    (
        "`(solve a b)` solves equations; `cholesky` and `qr` take a matrix apart",
        "lu cho_factor cho_solve lu_factor",
    ),
    ("`(svd a)` has the singular values, of which those that are not zero are counted", "matrix_rank"),
    ("write `(iterate (lambda (m) (matmul a m)) n (eye k))`", "matrix_power mpow"),
    (
        "write `(slice t start stop)`; differences are `(- (slice t 1 n) (slice t 0 (- n 1)))`",
        "ediff1d narrow",
    ),
    ("write `(map-tensor f t)`", "apply_along_axis elementwise"),
    ("write `(+ a (* t (- b a)))`", "lerp mix"),
    (
        "a polynomial is a `fold` over its coefficients: `(fold (lambda (c y) (+ c (* x y))) 0 l)`",
        "polyval polyfit poly1d horner",
    ),
    (
        "write `(conv2d x w)`, `(conv1d x w)` of sequences, or `(convolve a b)` of vectors",
        "correlate conv Conv1d",
    ),
    ("write `(fft x)` along each axis: `#:axis`", "fft2 fftn rfft2 ifft2"),
    ("there is `(fft x)`; a cosine transform is that of the entries continued by their mirror image", "dct"),
    ('write `(to-device t "cuda")`', "cuda cpu to device_put gpu"),
    ("write `(outer a b)`, or give the operands shapes that go together", "ix_ indices mgrid"),
    ("write `(exp (* t (log 10)))` of a `linspace`", "logspace geomspace"),
    (
        "a gradient is of any structure: `map-reals` goes over the numbers in one",
        "tree_map tree_leaves tree_flatten tree_unflatten tree_reduce ravel_pytree pytree tree-map "
        "parameters named_parameters state_dict",
    ),
    # Networks and special functions
    ("write `relu`", "ReLU relu6"),
    ("write `(max x (* 0.01 x))`", "leaky_relu LeakyReLU"),
    ("write `(where (> x 0) x (- (exp x) 1))`", "elu selu ELU"),
    ("write `(* x (sigmoid x))`", "silu swish SiLU"),
    ("write `sigmoid`", "expit logistic"),
    ("write `(* x (log y))`", "xlogy entr"),
    ("write `(dense w b)`, with `(dense-parameters key in out)`", "Linear Dense"),
    ("write `(lstm w u b)`, with `(lstm-parameters key in out)`", "LSTM"),
    ("write `(gru w u b)`, with `(gru-parameters key in out)`", "GRU"),
    ("write `batch-norm`", "BatchNorm1d BatchNorm2d BatchNorm"),
    (
        "write `cross-entropy`, of logits and labels",
        "CrossEntropyLoss nll_loss NLLLoss softmax_cross_entropy categorical-crossentropy",
    ),
    ("write `mean-squared-error`", "mse_loss MSELoss mse L1Loss l1_loss mae"),
    ("write `binary-cross-entropy`", "BCELoss BCEWithLogitsLoss bce bce_loss"),
    ("write `(sgd rate)`, `momentum` or `adam`", "SGD Nesterov optimizer"),
    ("write `(adagrad rate)`", "Adagrad AdaGrad"),
    ("write `(rmsprop rate 0.99)`", "RMSprop RMSProp"),
    ("write `(lbfgs f x tolerance)`", "LBFGS bfgs l-bfgs fmin_l_bfgs_b"),
    (
        "write `(optimize (adam 0.1) f x n)`, or `train`",
        "step fit minimise train_step apply_updates update-parameters",
    ),
    ("parameters are values, and a network is a procedure closed over them", "Parameter Module"),
    ("write `log-gamma`", "gammaln gamma-ln loggamma"),
    ("write `(exp (- (+ (log-gamma a) (log-gamma b)) (log-gamma (+ a b))))`", "beta"),
    ("write `(- (+ (log-gamma a) (log-gamma b)) (log-gamma (+ a b)))`", "betaln log-beta lbeta"),
    ("write `(exp (log-normal-cdf x))`", "ndtr normal-cdf norm-cdf"),
    ("write `(log-normal-cdf x)`", "logcdf log_ndtr"),
    (
        "this special function is not there; `gamma`, `log-gamma`, `digamma`, `polygamma`, `erf` and `erfc` are",
        "bessel_j0 bessel zeta i0 i1 gammainc betainc erfinv sinc",
    ),
)

# Hints by pattern, for open sets of words, such as all operations on a type of vectors.
FAMILIES: tuple[tuple[str, str], ...] = (
    (
        r"(make-)?(immutable-)?hash(-table)?\b.*|dict-.*|hashtable-.*|alist->.*|.*->hash(-table)?|hash-map|for/hash|make-hasheq.*",
        TABLES,
    ),
    (r"char\??|char[-<>=].*|.*->char|digit-value", CHARACTERS),
    (
        r"(make-)?bytevectors?\b.*|.*[-/]u8\b.*|u8vector.*|utf8->string|string->utf8|bytes-.*|.*bytevector.*",
        "there are no bytes; a tensor holds numbers",
    ),
    (
        r"(.*-)?(input|output|error|textual|binary)-(file|port|string).*|with-(input|output)-.*|.*port\?|close-.*port|.*->port|port->.*|file->.*|.*->file|"
        r"eof-object\??|(read|peek)-.*|read|.*-ready\?|open(-.*)?|slurp|spit|with-open|line-seq|loadtxt|savetxt|genfromtxt|file-exists\?|delete-file|input|"
        r"display-to-file|readline",
        FILES,
    ),
    (
        r"(make-)?[fsu]?[0-9]*vectors?\b[-?/<>=].*[^!]|(make-|list->)?[fsu]?[0-9]+vector|make-vector|vector[*]|.*->vector|vector\?|for/vector|build-vector|share-array|array-.*|.*-array!?",
        VECTORS,
    ),
    (r"string-ci.*", "write `string-foldcase` around both, and compare the results"),
    (r"test-.*|check-.*|assert-.*|assert_.*", TESTS),
    (
        r"set-.*\?|set-(add|remove|union|intersect|member|subtract|count|difference|empty).*|lset-.*|sets?->.*",
        SETS,
    ),
    (r"for\*?/.*|for\*|in-.*", LOOPS),
    (r"call-with-.*continuation|call/.*|let/.*", CONTINUATIONS),
    (
        r"(comparator|list-queue|ideque|make-comparator)\b.*",
        "there are lists and tensors, and no other collections",
    ),
    (r"c[ad]{4,}r", "write it as two: `(caddr (cdr l))`, or `(list-ref l i)`"),
    (r"vector-(set|fill|copy)!", CHANGED),
    (
        r"string-(set|fill|copy)!",
        "no string ever changes: `string-append`, `substring` and `string-map` make others",
    ),
    (r"(.+)!", PURE),
)


@functools.cache
def _shared() -> dict[str, str]:
    return {word: hint for hint, words in SHARED for word in words.split()}


def other_language_hint(word: str) -> str | None:
    """The hint for a word of another language; None if there is none."""
    found = WORDS.get(word) or _shared().get(word)
    if found is None and "-" in word:  # Python's, written as a name here
        python = word.replace("-", "_")
        found = WORDS.get(python) or _shared().get(python)
    if found is None and len(word) > 2:
        found = next((hint for pattern, hint in FAMILIES if re.fullmatch(pattern, word)), None)
    return found


def words() -> list[str]:
    """All listed words."""
    return [*WORDS, *_shared()]
