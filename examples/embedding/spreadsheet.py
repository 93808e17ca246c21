"""A spreadsheet whose formulas are written in vlad, by untrusted users.

A cell holds a number, or a formula over other cells. Each formula is a procedure of a confined session: it accesses no files and
ends within its limits, and its errors are shown beside its cell, while the others continue. A cell as a whole is a
procedure of all numbers in the sheet. So the sensitivity of a cell to each number is a gradient: one call,
however many numbers there are.

    python examples/embedding/spreadsheet.py
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

import vlad

LIMITS = vlad.Limits(fuel=1_000_000, seconds=2.0, memory=64.0, depth=10_000, output=1000)

# Definitions for procedures of the whole sheet, which is a dictionary in Python and an association list here.
SHEET = """
(define (number-of name) (lambda (numbers) (cdr (assoc name numbers))))
(define (applied formula cells) (lambda (numbers) (formula (map (lambda (cell) (cell numbers)) cells))))
"""


class Sheet:
    def __init__(self) -> None:
        self.session = vlad.Session.confined(limits=LIMITS)
        self.session.eval(SHEET)
        self.numbers: dict[str, float] = {}
        self.formulas: dict[str, str] = {}

    def __setitem__(self, cell: str, content: float | str) -> None:
        if isinstance(content, str):
            self.formulas[cell] = content
        else:
            self.numbers[cell] = float(content)

    def value(self, cell: str) -> object:
        """The displayed value of a cell. Raises VladError if its formula, or one that it refers to, is wrong."""
        return self.procedure(cell)(self.numbers)

    def sensitivities(self, cell: str) -> dict[str, float]:
        """By how much a cell changes with each number of the sheet. Raises VladError."""
        found: dict[str, float] = vlad.grad(self.procedure(cell))(self.numbers)
        return found

    def procedure(self, cell: str, within: tuple[str, ...] = ()) -> vlad.Procedure:
        """A cell as a procedure of the numbers of the sheet."""
        if cell in within:
            raise vlad.VladError("circular", f"The cell refers to itself: {' → '.join([*within, cell])}")
        made: vlad.Procedure
        if cell in self.numbers:
            made = self.session["number-of"](cell)
            return made
        references = [name for name in words(self.formulas[cell]) if name in self]
        cells = [self.procedure(name, (*within, cell)) for name in references]
        # the formula stands on lines of its own, so that a remark at its end cannot swallow a parenthesis
        text = f"(lambda ((list {' '.join(references)}))\n{self.formulas[cell]}\n)"
        made = self.session["applied"](self.session.eval(text, cell), cells)
        return made

    def __contains__(self, cell: str) -> bool:
        return cell in self.numbers or cell in self.formulas

    def __iter__(self) -> Iterator[str]:
        return iter([*self.numbers, *self.formulas])


def words(formula: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"[^\s()'\"`,;]+", formula)))


def shown(sheet: Sheet, cell: str) -> str:
    try:
        value = sheet.value(cell)
    except vlad.VladError as error:
        hint = error.hint
        if error.code == "unbound-variable":  # a cell is more likely than a name of the library
            near = difflib.get_close_matches(error.message.split()[-1], sheet)
            hint = f"did you mean {near[0]}?" if near else hint
        return f"! {error.message}" + (f" ({hint})" if hint else "")
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def main() -> None:
    sheet = Sheet()
    for cell, number in {"price": 12.5, "cost": 7.0, "advert": 3.0, "rent": 40.0}.items():
        sheet[cell] = number
    sheet["sold"] = "(* 20 (exp (- (* 0.3 (log advert)) (* 0.08 price))))"
    sheet["income"] = "(* sold price)"
    sheet["expenses"] = "(+ rent (* sold cost) advert)"
    sheet["total"] = "(- income expenses) ; what is left"
    # what people also write
    sheet["typo"] = "(* pirce 2)"
    sheet["endless"] = "(let loop ((x price)) (loop (+ x 1)))"
    sheet["curious"] = '(load-csv "/etc/passwd")'
    sheet["chicken"] = "(+ egg 1)"
    sheet["egg"] = "(* chicken 2)"
    sheet["words"] = '(if (> total 0) "good" "bad")'
    for cell in sheet:
        print(f"{cell:9} {shown(sheet, cell)}")
    print("\ntotal changes, for one more of")
    for cell, sensitivity in sheet.sensitivities("total").items():
        print(f"{cell:9} {sensitivity:+.4f}")


if __name__ == "__main__":
    main()
