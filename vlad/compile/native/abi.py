"""What every compiled unit exports, for cffi. The declarations below, compiled by cffi 2 without a C parser at run time
(`FFI().set_source("vlad.compile.native.abi", None)`), so that importing this costs a millisecond:

    union vlad_word { double d; long i; void *p; };
    struct vlad_reserve { unsigned long arena, stack, left; void *areas[16]; void *stacks[16]; };
    int vlad_call(union vlad_word const *, union vlad_word *);
    extern char vlad_direct[];
    extern char vlad_border[];
    extern char vlad_places[]; /* the address of its numbers is there */
    extern int volatile vlad_stop;
    extern long vlad_deepest;
    extern long vlad_most;
    extern long vlad_threads;
    long vlad_give_back(void);
    long vlad_rest(void);
    int vlad_measure(long const *, long *);
    void vlad_lengths(long *);
    extern struct vlad_reserve *vlad_reserve;
    extern char const vlad_digest[];
    extern int (*vlad_host_write)(char const *, long);
    extern int (*vlad_host_read)(double *);
"""

from __future__ import annotations

import _cffi_backend  # type: ignore[import-untyped]

ffi = _cffi_backend.FFI(
    "vlad.compile.native.abi",
    _version=0x2601,
    _types=b"\x00\x00\x19\x0d\x00\x00\x14\x03\x00\x00\x09\x01\x00\x00\x00\x0f\x00\x00\x19\x0d\x00\x00\x16\x03\x00\x00"
    b"\x00\x0f\x00\x00\x19\x0d\x00\x00\x02\x03\x00\x00\x02\x03\x00\x00\x00\x0f\x00\x00\x19\x0d\x00\x00\x1c\x03"
    b"\x00\x00\x1c\x03\x00\x00\x00\x0f\x00\x00\x02\x0d\x00\x00\x00\x0f\x00\x00\x21\x0d\x00\x00\x09\x11\x00\x00"
    b"\x00\x0f\x00\x00\x02\x01\x00\x00\x14\x07\x00\x00\x0e\x01\x00\x00\x00\x03\x00\x00\x04\x03\x00\x00\x07\x01"
    b"\x00\x00\x1b\x03\x00\x00\x00\x09\x00\x00\x01\x09\x00\x00\x0a\x01\x00\x00\x21\x03\x00\x00\x1e\x05\x00\x00"
    b"\x00\x10\x00\x00\x00\x01",
    _globals=(
        b"\x00\x00\x15\x21vlad_border", 0,
        b"\x00\x00\x0b\x23vlad_call", 0,
        b"\x00\x00\x02\x21vlad_deepest", 0,
        b"\x00\x00\x15\x21vlad_digest", 0,
        b"\x00\x00\x15\x21vlad_direct", 0,
        b"\x00\x00\x0f\x23vlad_give_back", 0,
        b"\x00\x00\x18\x21vlad_host_read", 0,
        b"\x00\x00\x17\x21vlad_host_write", 0,
        b"\x00\x00\x11\x23vlad_lengths", 0,
        b"\x00\x00\x07\x23vlad_measure", 0,
        b"\x00\x00\x02\x21vlad_most", 0,
        b"\x00\x00\x15\x21vlad_places", 0,
        b"\x00\x00\x1a\x21vlad_reserve", 0,
        b"\x00\x00\x0f\x23vlad_rest", 0,
        b"\x00\x00\x19\x21vlad_stop", 0,
        b"\x00\x00\x02\x21vlad_threads", 0,
    ),
    _struct_unions=(
        (
            b"\x00\x00\x00\x1b\x00\x00\x00\x02vlad_reserve", b"\x00\x00\x1d\x11arena", b"\x00\x00\x1d\x11stack",
            b"\x00\x00\x1d\x11left", b"\x00\x00\x1f\x11areas", b"\x00\x00\x1f\x11stacks",
        ),
        (b"\x00\x00\x00\x1c\x00\x00\x00\x03vlad_word", b"\x00\x00\x16\x11d", b"\x00\x00\x02\x11i", b"\x00\x00\x1e\x11p"),
    ),
)  # fmt: skip

# Results of vlad_call: 0 for success, a limit that was reached, the number of a `fail`, or the program's own exit.
TOO_DEEP, OUT_OF_MEMORY, STOPPED, OUTSIDE, OUT_OF_FUEL, FIRST_FAILURE = 1, 2, 3, 4, 5, 10
EXITED, STATUSES = (
    1 << 20,
    256,
)  # more than a unit has failures: `exit` with status 0; and `emergency-exit`, behind so many
PLACES_KEPT = 1024  # of the calls in progress, for profiles, the innermost; a power of two

# Bytes for the boxes and arrays of one call, and for its recursion, without limits.
ARENA_SIZE, STACK_SIZE = 1 << 34, 1 << 30
