"""Behaviour beyond programs of one file: files and search paths, standard input, output order, exit statuses."""

from __future__ import annotations

from pathlib import Path

from commands import command


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_include_splices_and_may_nest(tmp_path: Path) -> None:
    """Section 2: the forms of the file take the place of the include; `.vlad` is appended."""
    written(tmp_path, "inner.vlad", "(define two 2)")
    written(tmp_path, "outer.vlad", '(include "inner") (define (add x) (+ x two)) (add 40)')
    program = written(tmp_path, "main.vlad", '(include "outer") (add 1)')
    assert command(str(program), cwd=tmp_path).stdout == "42\n3\n"


def test_include_searches_the_files_folder_then_the_working_folder_then_the_path(tmp_path: Path) -> None:
    """language.md section 1, in place of dialect.md section 2."""
    program = written(tmp_path, "program/main.vlad", '(include "part") name')
    written(tmp_path, "path/part.vlad", "(define name 'path)")
    work = tmp_path / "work"
    work.mkdir()
    run = ("-I", str(tmp_path / "path"), str(program))
    assert command(*run, cwd=work).stdout == "path\n"
    written(tmp_path, "work/part.vlad", "(define name 'work)")
    assert command(*run, cwd=work).stdout == "work\n"
    written(tmp_path, "program/part.vlad", "(define name 'program)")
    assert command(*run, cwd=work).stdout == "program\n"


def test_an_absolute_name_is_not_searched_for(tmp_path: Path) -> None:
    part = written(tmp_path, "part.vlad", "(define name 'absolute)")
    program = written(tmp_path, "main.vlad", f'(include "{part}") name')
    assert command(str(program), cwd=tmp_path).stdout == "absolute\n"


def test_include_of_itself_is_an_error(tmp_path: Path) -> None:
    program = written(tmp_path, "main.vlad", '(include "main")')
    done = command(str(program), cwd=tmp_path)
    assert done.returncode == 1
    assert "includes itself" in done.stderr


def test_modules_are_evaluated_once_and_limit_what_they_hand_out(tmp_path: Path) -> None:
    """language.md section 2."""
    written(
        tmp_path,
        "nn.vlad",
        "(export twice) (define hidden 1) (define (twice x) (* 2 x)) (define-syntax m (syntax-rules () ((_ a) a)))",
    )
    program = written(tmp_path, "main.vlad", '(import "nn") (import "nn" as n) (twice 2) (n:twice 3) hidden')
    done = command(str(program), cwd=tmp_path)
    assert done.stdout == "4\n6\n"
    assert "Unbound variable: hidden" in done.stderr


def test_macros_are_handed_out_too(tmp_path: Path) -> None:
    written(tmp_path, "nn.vlad", "(define-syntax twice (syntax-rules () ((_ a) (begin a a))))")
    program = written(tmp_path, "main.vlad", '(import "nn") (twice (write-real 1))')
    assert command(str(program), cwd=tmp_path).stdout == "1\n1\n1\n"


def test_expectations_are_dropped(tmp_path: Path) -> None:
    """Section 2: `===>` and the datum after it."""
    program = written(tmp_path, "main.vlad", "(+ 1 2) ===> 3 (+ 2 2) ===> (multiform 1 2)")
    assert command(str(program), cwd=tmp_path).stdout == "3\n4\n"


def test_read_real_takes_the_next_number_of_the_input(tmp_path: Path) -> None:
    program = written(tmp_path, "main.vlad", "(+ (read-real) (read-real)) (read-real)")
    assert command(str(program), cwd=tmp_path, text="1 2.5\n7").stdout == "3.5\n7\n"
    done = command(str(program), cwd=tmp_path, text="one")
    assert done.returncode == 1
    assert "Value read is not real" in done.stderr


def test_definitions_alone_print_nothing(tmp_path: Path) -> None:
    program = written(tmp_path, "main", "(define (f x) x)")
    assert command(str(program), cwd=tmp_path).stdout == ""


def test_results_and_errors_go_to_their_own_streams(tmp_path: Path) -> None:
    """Sections 8 and 9, with the exit status of language.md section 8; the first error ends the program."""
    program = written(tmp_path, "main.vlad", "(+ 1 2)\n(car 5)\n(+ 3 4)")
    done = command(str(program), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "3\n")
    assert "main.vlad:2:1: Error: Argument to car is invalid" in done.stderr
    assert "Traceback" not in done.stderr


def test_metered_counts_in_the_order_of_the_table(tmp_path: Path) -> None:
    """Section 12: after each result a line `COUNT NAME` for each primitive that was called during it."""
    program = written(tmp_path, "main.vlad", "(define (f x) (sin (* x (+ x (* x x)))))\n(f 1)\n(f (f 2))\n7")
    done = command("--metered", str(program), cwd=tmp_path)
    counts = [line for line in done.stdout.splitlines() if " " in line]
    assert counts == ["1 +", "2 *", "1 sin", "2 +", "4 *", "2 sin"]


def test_devices_and_folders_are_no_programs(tmp_path: Path) -> None:
    """A device might never end."""
    for name in ("/dev/zero", str(tmp_path)):
        program = written(tmp_path, "main.vlad", f'(include "{name}")')
        done = command(str(program), cwd=tmp_path)
        assert done.returncode == 1
        assert "Cannot find" in done.stderr
