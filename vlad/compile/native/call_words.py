"""The layout of the words of a compiled call: one record, from which emit/c_unit.py emits the code that reads them, and
calling/executable.py and calling/fast_call.py write the words.
"""

from __future__ import annotations

from dataclasses import dataclass

PRODUCTS, ROUTINES, FUNCTIONS = 5, 2, 1  # words for the BLAS, LAPACK and vector functions


@dataclass(frozen=True, slots=True)
class CallWords:
    """`vlad_call` reads the leaves of the operands, then the words that the fields below require, in their order; it writes the
    leaves of the result, then the fuel that is left. The properties are indices.

    parameters     the kinds of the leaves of the operands (ir/program.Slot), a letter each
    results        the kinds of the leaves of the result
    counts         the call takes fuel: one word
    multiplies     it takes the BLAS products for doubles and for floats, whether their integers are wide, and the functions that
                   set and return the number of their threads
    decomposes     it takes the table of the LAPACK routines, and whether their integers are wide
    calls_vectors  it takes the table of the vector functions
    tensors        the number of tensors that are part of the program; it takes the address of the entries of each
    places         the results, by number, whose entries it writes to an address; it takes that address, or a null pointer
    """

    parameters: str = ""
    results: str = ""
    counts: bool = False
    multiplies: bool = False
    decomposes: bool = False
    calls_vectors: bool = False
    tensors: int = 0
    places: tuple[int, ...] = ()

    @property
    def fuel(self) -> int:
        return len(self.parameters)

    @property
    def products(self) -> int:
        return self.fuel + self.counts

    @property
    def routines(self) -> int:
        return self.products + PRODUCTS * self.multiplies

    @property
    def functions(self) -> int:
        return self.routines + ROUTINES * self.decomposes

    @property
    def entries(self) -> int:
        """The address of the first tensor that is part of the program."""
        return self.functions + FUNCTIONS * self.calls_vectors

    @property
    def targets(self) -> int:
        """The address for the first of `places`."""
        return self.entries + self.tensors

    def target(self, result: int) -> int | None:
        """The address for a result's entries; None if the result is not one of `places`."""
        return self.targets + self.places.index(result) if result in self.places else None

    @property
    def count(self) -> int:
        """The number of words that the call reads."""
        return self.targets + len(self.places)

    @property
    def are_operands_only(self) -> bool:
        return self.count == len(self.parameters)

    @property
    def fuel_left(self) -> int:
        """The index among the words that the call writes."""
        return len(self.results)
