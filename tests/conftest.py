"""For all tests: every pass's result is checked against core's grammar."""

from __future__ import annotations

import vlad.core.passes

vlad.core.passes.CHECKING = True
