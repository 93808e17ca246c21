"""By how much scripts of the corpus exceed their time limits: `python tests/embedding/adversary/measure.py [TIER [WORD]]`.

A line for each script whose name contains the word: seconds in all, seconds beyond its limit, growth of the process in megabytes,
its outcome, and any failure. On a quiet machine none is more than 0.2 seconds beyond.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from test_adversary import CORPUS, OWN, is_usable, outcome, session_for

from vlad.control.budget import resident_bytes


def main(tier: str, word: str) -> None:
    worst = 0.0
    for name, script in CORPUS.items():
        if word not in name:
            continue
        session = None
        gc.collect()
        before, session = resident_bytes(), session_for(tier)
        ends, value, seconds = outcome(session, script)
        beyond = seconds - dict(script.limits).get("seconds", OWN["seconds"])
        worst = max(worst, beyond)
        wrong = []
        if ends not in script.ends.split("|"):
            wrong.append(f"expected {script.ends}: {' '.join(str(value).split())[:200]}")
        elif ends == "none" and script.value not in (None, value):
            wrong.append(f"expected {script.value!r}, not {str(value)[:100]}")
        try:
            if not is_usable(session):
                wrong.append("not usable")
        except Exception as error:
            wrong.append(f"not usable: {error}")
        grown = (resident_bytes() - before) / 1e6
        late = f"{beyond:+.2f} LATE" if beyond > 0.2 else ""
        print(
            f"{seconds:7.2f} s {late:12} {grown:7.0f} MB  {ends:20} {name:50} {'; '.join(wrong)}", flush=True
        )
    print(f"at most {worst:.2f} s beyond a limit")


if __name__ == "__main__":
    main(*(sys.argv[1:] + ["evaluate", ""][len(sys.argv) - 1 :])[:2])
