"""Exceptions that are caught."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def _checked(x: float) -> float:
    if x < 0:
        raise ValueError(f"negative: {x:.1f}")
    return math.sqrt(x)


def quotient_or(x: float = 3.0) -> float:
    try:
        r = x / (x - x)
    except ZeroDivisionError:
        r = x * x
    return r + 1


def quotient(x: float = 3.0, y: float = 2.0) -> float:
    try:
        r = x / y
    except ZeroDivisionError:
        r = x * x
    else:
        r = r * 2
    return r


def returned_from_each(x: float = -4.0) -> float:
    try:
        return math.sqrt(x)
    except ValueError:
        return -x


def of_a_function(x: float = -2.5) -> tuple[float, str]:
    try:
        return _checked(x), "none"
    except (KeyError, ValueError) as error:
        return x * x, str(error)


def in_a_loop(xs: list[float] = [1.0, 0.0, -2.0, 4.0]) -> list[float]:
    out = []
    for x in xs:
        try:
            if x < 0:
                raise ValueError("below")
            y = 1 / x
            out.append(y)
        except ZeroDivisionError:
            continue
        except ValueError:
            out.append(x * x)
        else:
            out.append(9 * x)
    return out


def the_first_that_works(x: float = 3.0) -> float:
    n = 0.0
    while True:
        try:
            y = 10 * x / n
            break
        except ZeroDivisionError:
            n += 2.0
    return y


def as_it_was_when_raised(x: float = 2.5) -> float:
    s = 1.0
    try:
        s += x
        if s > 30:
            return s
        t = s * [1.0, 2.0][int(x)]
    except IndexError:
        t = 100 * s
    return t + s


def raised_again(x: float = -3.0) -> float:
    try:
        try:
            return _checked(x)
        except ValueError:
            raise
    except ValueError:
        return 7 * x


def turned_into_another(x: float = -3.0) -> float:
    try:
        y = _checked(x)
    except ValueError as error:
        raise ArithmeticError("no root: " + str(error)) from error
    return y


def not_of_this_kind(x: float = -3.0) -> float:
    try:
        return _checked(x)
    except (IndexError, ZeroDivisionError):
        return 0.0


def of_a_base_class(x: float = 3.0) -> float:
    try:
        y = x / (x - x)
    except ArithmeticError:
        y = x**3
    return y


def of_any_class(x: float = 3.0) -> float:
    try:
        assert x < 0, "a message"
        y = x
    except Exception:
        y = x**2
    return y


def bare(d: dict[str, float] = {"a": 2.0}, x: float = 3.0) -> float:
    try:
        y = d["b"] * x
    except:  # noqa: E722  # what this function is about
        y = d["a"] * x * x
    return y


def within_a_handler(x: float = -4.0) -> float:
    try:
        y = _checked(x)
    except ValueError:
        try:
            y = _checked(x + 1)
        except ValueError:
            y = _checked(-x)
    return y


def own_exception(x: float = 1.0) -> float:
    if x > 0:
        raise Exception("of no special class")
    return x


def of_a_singular_matrix(x: float = 1.5) -> tuple[float, float]:
    singular = np.array([[x, 2 * x], [2 * x, 4 * x]])
    try:
        a = np.linalg.inv(singular)[0, 0]
    except np.linalg.LinAlgError:
        a = x * x
    try:
        b = np.linalg.solve(singular, np.ones(2))[0]
    except ValueError:
        b = x**3
    return a, b


def no_runtime_error(x: float = 2.0) -> float:
    try:
        try:
            raise OSError("of a class without a counterpart")
        except RuntimeError:
            return x
    except Exception:  # any handler but this one leaves it
        return x * x


def a_sum(xs: list[float] = [1.0, 2.0]) -> float:
    total, n = 0.0, 5
    try:
        n = 6
        for x in xs:
            total += 1 / x
        total *= 2
    except ZeroDivisionError:
        total = -n
    else:
        total += 1
    return total


def a_sum_that_fails(xs: list[float] = [1.0, 0.0]) -> float:
    return a_sum(xs)


def lost_by_a_loop(xs: list[float] = [1.0, 2.0], y: float = 0.0) -> list[Any]:
    found = []
    for x in (*xs, y):
        try:
            i = total = 0
            while i < 3:
                if x == 2:
                    i += 1
                    continue
                if x == 7:
                    break
                total += 1 / x
                i += 1
            else:
                total += 100
        except ZeroDivisionError:
            found.append("none")
            continue
        found.append(total)
    return found


def _place(xs: list[float], y: float) -> Any:
    try:
        for i, x in enumerate(xs):
            if y / x == 2:
                return i
        n = 5
    except ZeroDivisionError:
        return "none"
    return n


def returned_from_loops(y: float = 6.0) -> list[Any]:
    return [_place([1.0, 3.0], y), _place([1.0, 0.0], y), _place([1.0, 2.0], y), _place([], y)]


def _of_rows(rows: list[list[float]]) -> Any:
    for row in rows:
        try:
            for x in row:
                try:
                    j = 0
                    while j < 2:
                        if x == 9:
                            return "nine"
                        j += 1 / x
                except ZeroDivisionError:
                    continue
                if x > 50:
                    return x
        except IndexError:
            return "never"
    return len(rows)


def loops_in_loops(x: float = 1.0) -> list[Any]:
    return [_of_rows([[x, 0.0], [9.0]]), _of_rows([[0.0, 60.0], [x]]), _of_rows([[x], [0.0]])]


def _finally(xs: list[float]) -> list[Any]:
    found: list[Any] = []
    for x in xs:
        try:
            if x == 2:
                continue
            if x == 5:
                break
            found.append(10 / x)
        except ZeroDivisionError:
            found.append("none")
        finally:
            found.append(x)
    return found


def done_finally(xs: list[float] = [1.0, 0.0, 2.0, 3.0, 5.0, 6.0]) -> list[Any]:
    return _finally(xs)


def _counted(x: float, y: float) -> Any:
    n = 0
    try:
        try:
            return x / y, n
        finally:
            n += 1
    except ZeroDivisionError:
        return n


def finally_before_return(x: float = 3.0) -> list[Any]:
    return [_counted(x, 2.0), _counted(x, 0.0)]


def finally_after_a_handler(x: float = 1.0) -> list[float]:
    found = []
    try:
        try:
            raise ValueError("a")
        except ValueError:
            found.append(x)
            raise KeyError("b")
        finally:
            found.append(2 * x)
    except KeyError:
        found.append(3 * x)
    return found


def finally_of_a_loop(xs: list[float] = [1.0, 0.0]) -> float:
    n = 0
    try:
        for x in xs:
            n = 1 / x
    finally:
        print("done")
    return n


def _handled_and_done(xs: list[float]) -> list[Any]:
    total, found, done = 0.0, [], []
    try:
        for x in xs:
            y = 1 / x
        found.append(y)
    except ZeroDivisionError:
        for z in xs:
            found.append(z)
    except ValueError:
        total = 2.0
    else:
        while total < 3:
            total += y
    finally:
        if len(xs) > 1:
            for w in xs:
                done.append(-w)
    return [total, found, done]


def loops_handled_and_done(x: float = 2.0) -> list[Any]:
    return [_handled_and_done([1.0, x]), _handled_and_done([1.0, 0.0]), _handled_and_done([x])]


def a_loop_handled_and_done(x: float = 2.0) -> float:
    n = 0
    try:
        for v in [x, x + 1, 0 * x]:
            n = x / v
    except ZeroDivisionError:
        return x**3
    finally:
        n = 5
    return n


def _nested(xs: list[float], kind: float) -> Any:
    try:
        try:
            for x in xs:
                if x == 5:
                    raise KeyError("five")
                if x == 7:
                    raise TypeError("seven")
                if kind / x > 10:
                    return x, kind
            y = len(xs)
        except ZeroDivisionError:
            y = -1
            if kind == 3:
                raise
        except KeyError:
            while kind < 100:
                kind *= 2
                if kind == 16:
                    raise ValueError("sixteen") from None
            y = kind
        y += 1
    except (ValueError, ZeroDivisionError) as error:
        return "sixteen" if str(error) == "sixteen" else "zero"
    except Exception:
        return "seven"
    return y


def loops_in_nested_attempts(x: float = 1.0) -> list[Any]:
    rows = [[x], [x, 0.0], [5.0], [7.0]]
    return [_nested(row, kind) for row in rows for kind in (2.0, 3.0, 11.0)]


def _unpacked(x: Any) -> Any:
    a = b = c = 0.0
    try:
        a, b = x
        (c, (a, *b)), d = x
        e, f = whole = x
    except ValueError:
        return a, b, c
    return a, b, c, d, e, f, whole


def unpacked(x: float = 2.0) -> list[Any]:
    values = [[x, 3.0, 4.0], [x], [[x, 3.0, 4.0], 5.0], [[x, []], 5.0], ((x, [7.0, 8.0]), "d")]
    return [_unpacked(one) for one in values]


def unpacked_by_any_handler(x: float = 3.0) -> float:
    found = 0.0
    for xs in [[x], [x, x * x], [1.0, 2.0, x]]:
        try:
            first, second = (2 * one for one in xs)
        except:  # noqa: E722
            found += x
        else:
            found += first * second
    try:
        first, *others = []
    except ValueError:
        found += 1
    return found

# What a loop within `try` has assigned until the exception is read afterwards.


def sum_until_it_fails(xs: list[float] = [1.0, 2.0, 0.0, 5.0], x: float = 3.0) -> float:
    total = 0.0
    try:
        for y in xs:
            total += x / y
    except ZeroDivisionError:
        pass
    return total


def seen_by_a_handler(xs: list[float] = [1.0, 2.0, 0.0, 5.0]) -> Any:
    total, n = 0.0, 0
    try:
        for i, x in enumerate(xs):
            n = i
            y = 1 / x
            total += y
        total += 100
    except Exception:
        return total, n
    return -total


def a_test_that_fails(x: float = 8.0) -> Any:
    n = 0
    try:
        while 10 / (x - n) > 0:
            n += 1
    except ZeroDivisionError:
        return n * x
    return -n


def _of_table(rows: list[list[float]]) -> Any:
    done: list[float] = []
    last, k = None, 0
    for row in rows:
        try:
            for x in row:
                last = x
                done.append(1 / x)
            else:
                k += 10
        except ZeroDivisionError:
            done.append(-1.0)
            continue
        k += 1
    return done, last, k


def inner_loops_that_fail(x: float = 2.0) -> Any:
    rows = [[1.0, x], [4.0, 0.0, 3.0], [5.0]]
    done, last = [], None
    try:
        for row in rows:
            for y in row:
                last = y
                done.append(1 / y)
    except ZeroDivisionError:
        done.append(-1.0)
    return done, last, _of_table(rows)


def unpacked_until_it_fails(x: float = 2.0) -> float:
    s, pairs = 0.0, [(1.0, x), (3.0, x), (5.0,), (6.0, 7.0)]
    try:
        for p, q in pairs:
            s += p * q
    except ValueError:
        return s
    return -s


def _found(xs: list[float]) -> Any:
    found = None
    try:
        for x in xs:
            if x < 0:
                raise ValueError("negative")
            assert x != 4, "four"
            found = x
            if x > 6:
                break
        else:
            found = 77
    except (ValueError, AssertionError) as error:
        return found, str(error)
    return found


def found_until_it_fails(x: float = 2.0) -> Any:
    return [_found(xs) for xs in ([x, -1.0], [x, 4.0], [x, 7.0, -1.0], [x])]


def through_two_attempts(x: float = 4.0) -> float:
    n = 0
    try:
        for y in [x, 9.0, -1.0]:
            try:
                n += math.sqrt(y)
            except ZeroDivisionError:
                n -= 1
            n += 1
    except ValueError:
        n *= 10
    finally:
        n += 0.5
    return n


def returned_until_it_fails(x: float = 2.0) -> Any:
    found = []
    for xs in ([x], [0.0, x], [x - 5.0, 0.0]):
        found.append(_returned(xs))
    return found


def _returned(xs: list[float]) -> float:
    m = 5.0
    try:
        while True:
            for x in xs:
                m = m + 1
                if 1 / x > 0:
                    return m
    except ZeroDivisionError:
        m = -m
    return m


NOTHING, OFF = None, False


def identities(x: Any = None) -> list[bool]:
    y = 1.0 if x is NOTHING else 2.0
    return [x is NOTHING, x is not OFF, y is None, int is int, ValueError is KeyError, NOTHING is not None, y is OFF]


# Changes within `try`: what was changed before the exception is kept.


def _items(i: int, e: float) -> Any:
    x = [1.0, 2.0, 3.0]
    try:
        x[0] = e
        x[i] = 2 * e
        x[0] += e
        x[i - 1] /= e
        x[1] *= 7.0 / i
        del x[i], x[i]
    except (IndexError, ZeroDivisionError) as error:
        x.append(9.0)
        x.append(isinstance(error, IndexError))
    return x


def _keys(i: Any, e: float) -> Any:
    t: dict[Any, float] = {"a": 1.0, 2: e}
    try:
        t["b"] = e
        t[i] += 1
        del t[i]
        t["c"] = 8 / e
        t.update({"f": 1})
    except KeyError as error:
        t["k"] = error.args[0]
    except ZeroDivisionError:
        t["z"] = 0
    return t


def _popped(n: int, e: float) -> Any:
    xs, y = [e, 2.0, 3.0], 5.0
    try:
        for _ in range(int(n)):
            y = xs.pop() / e
            z = 1 + xs.pop(0)
            y += z
    except IndexError:
        return "empty", y, xs
    except ZeroDivisionError:
        return "zero", y, xs
    return y, xs


def _exchanged(i: int, e: float) -> Any:
    xs = [e, 2.0, 3.0]
    try:
        xs[0], xs[i] = xs[i], xs[0]
        a = xs[1] = e / (i - 2)
        (b, xs[0]), xs[2 * i] = (4 * a, 5), 6
        xs.insert(0, b)
    except (IndexError, ZeroDivisionError):
        xs.append(7)
    return xs


def _assigned(i: int, e: float) -> Any:
    y, x = 3.0, e
    try:
        z = (y := e) / i
        x /= i
        x //= i - 1
        x %= i - 2
        if (w := x / (i - 3)) > 0:
            return w
    except ZeroDivisionError:
        return x, y
    return z, y


def _sorted(i: int, e: float) -> Any:
    xs: list[Any] = [3.0, e, ["a", 2.0][i > 0]]
    try:
        xs.sort()
        xs.remove(i)
        xs.extend([1.0, *xs[: i - 1]])
        xs.insert(0, xs[4])
    except TypeError:
        return "type"
    except (ValueError, IndexError):
        return "none", xs
    return xs


def _rows(i: int, e: float) -> Any:
    t = [[1.0, e], [e, 2.0]]
    try:
        try:
            t[0][1] = 5.0
            t[1][i] += e
        finally:
            t[i - 1].append(3.0)
        t[0][0] = e / (i - 1)
        t.sort()
    except (IndexError, ZeroDivisionError):
        return t
    return t


def changed_within(e: float = 2.5) -> list[Any]:
    found: list[Any] = []
    for i in range(4):
        found.append([_items(i, e), _items(i, 0 * e), _keys(i, e), _keys("b", e - 2.5 * i), _popped(i, e), _popped(i, 0 * e)])
        found.append([_exchanged(i, e), _assigned(i, e), _sorted(i, e), _rows(i, e)])
    return found


def changed_in_a_loop(x: float = 1.3) -> float:
    found, failed = np.zeros(3), [0.0, 0.0]
    for i in range(5):
        try:
            found[i] = x * i
            found[i] /= i + 1
            failed[int(found[i])] += x * x / (i - 1)
        except IndexError:
            failed[0] += x
        except ZeroDivisionError:
            found[1] += x * x
    return float(found.sum()) + failed[0] + 2 * failed[1]


def _in_order(i: int, e: float) -> Any:
    xs, d, y, t = [1.0, 2.0, 3.0, e, 4.0], {1: 5.0}, 0.0, 0.0
    try:
        if i > 2:
            return 1 / (i - 3) + xs.pop()
        d[i] += xs.pop()
        t = d[i] + (y := 3)
        for k in range(int(xs.pop(0) / i)):
            xs.append(k)
        u = [d[i + 1], xs.pop(), 1 / (i - 2), xs.pop()]
    except (KeyError, ZeroDivisionError):
        return xs, d, y, t
    return u


def changed_in_order(e: float = 2.5) -> list[Any]:
    return [_in_order(i, e) for i in range(5)]


def many_ways(x: float = 0.8125, n: int = 12) -> float:
    total, k = 0.0, 0
    while k < n:
        try:
            a = x + k - 2
            if a > 1:
                b = a * 2
            else:
                b = math.sqrt(a)
            if b > 3:
                c = b - 1
            else:
                c = 1 / (b - 0.5)
            if c > 5:
                d = c
            else:
                d = -c
            if d < 0:
                e = d * d
            elif d < 8:
                e = d / (d - 6.5)
            else:
                e = 1.0
            if e > 2:
                e -= 1
            if e > 4:
                e = math.log(e - 4.5)
            if e > 5:
                raise KeyError("large")
            total += e
        except ZeroDivisionError:
            total -= 1.0
        except ValueError:
            total += 0.25 * x
        except KeyError:
            total += x * x
        else:
            total += 0.5
        k += 1
    return total


def many_ways_out(x: float = 0.5) -> float:
    for i in range(10):
        try:
            if x > 9:
                break
            if x > 7:
                x = x + 1
                continue
            if x > 6:
                x += 1
            if x > 3:
                y = 1 / (x - 3.5)
            else:
                y = x
            if y > 8:
                return y
            if y > 2:
                z = y
            else:
                z = 2.0
            if z > 3:
                x += 0.25
            elif z > 2:
                x += math.log(z - 2.5)
            else:
                x = x * 1.5
            if x > 6:
                x += 0.125
            x += z
        except ValueError:
            x += 3
        finally:
            x -= 0.5
    return x


def many_ways_of_several(xs: list[float] = [0.5, 0.75, 1.0, 2.0, 3.5, 5.0, 6.25, 8.0]) -> list[float]:
    return [many_ways(x) for x in xs] + [many_ways_out(x) for x in xs]


def many_ways_to_values(x: float = 0.5) -> tuple[float, str]:
    kind = "none"
    try:
        if x > 1:
            kind = "large"
        if x < 0:
            kind = "negative"
        if x == 0:
            kind = "zero"
        if x > 100:
            kind = "huge"
        if kind == "none":
            r = 1.0
        elif kind == "large":
            r = 2.0
        else:
            r = 3.0
        if r > 2:
            r = r / x
        if r > 1:
            r = math.log(x)
        if r > 4:
            r = [1.0, 2.0][5]
    except (ZeroDivisionError, ValueError) as error:
        return x, f"{kind} {type(error).__name__}"
    except IndexError:
        r = 0.0
    return r, kind


def many_ways_to_values_of_several(
    xs: list[float] = [0.5, 2.0, -1.0, 0.0, 150.0, 1e9],
) -> list[tuple[float, str]]:
    return [many_ways_to_values(x) for x in xs]


def many_trys_within_one(x: float = -0.5) -> list[float]:
    found = []
    try:
        try:
            a = math.sqrt(x)
        except ValueError:
            a = 2.0
        try:
            b = 1 / (a - 2.0)
        except ZeroDivisionError:
            b = a
        try:
            c = math.log(b - 1.0)
        except ValueError:
            c = 0.0
        try:
            d = 1 / c
        except ZeroDivisionError:
            d = 4.0
        try:
            e = [a, b][int(d) + 1]
        except IndexError:
            e = a * d
        found += [a, b, c, d, e]
        found.append(math.sqrt(-e))
    except ValueError:
        found.append(x)
    return found
