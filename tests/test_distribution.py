"""How tests are distributed among processes: what each process is given, and what is heard of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from distribution import LONGEST, Batches, ByFile
from xdist.remote import Producer
from xdist.workermanage import WorkerController

SILENT = Producer("", enabled=False)
ITEMS = ["a.py::one", "b.py::two", "a.py::three", "c.py::four@slow", "d.py::five@slow", "e.py::six"]


class Node:
    """A process that keeps what it is given."""

    def __init__(self) -> None:
        self.gateway = SimpleNamespace(id="gw0")
        self.shutting_down = False
        self.given: list[str] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.given += [ITEMS[index] for index in indices]

    def shutdown(self) -> None:
        self.shutting_down = True


def test_whole_files_and_groups_are_given_as_others_are_completed() -> None:
    option = SimpleNamespace(loadscopereorder=False)
    scheduler, node = ByFile(SimpleNamespace(option=option, getvalue=lambda name: ["popen"]), SILENT), Node()
    scheduler.add_node(node)
    scheduler.add_node_collection(node, ITEMS)
    scheduler.schedule()
    assert node.given == ["a.py::one", "a.py::three", "b.py::two"]
    for number, after in enumerate([["c.py::four@slow", "d.py::five@slow"], [], ["e.py::six"], []]):
        before = len(node.given)
        scheduler.mark_test_complete(node, ITEMS.index(node.given[number]))
        assert node.given[before:] == after
    assert node.shutting_down and scheduler.has_pending
    assert scheduler.remove_node(node) == "d.py::five@slow"  # it ended during this one
    assert list(scheduler.workqueue) == ["slow", "e.py"]


def test_events_arrive_in_order_with_one_message_for_each_test() -> None:
    messages: list[Any] = []
    send = Batches(SimpleNamespace(send=messages.append))
    report = {"outcome": "failed", "longrepr": ("a", 1, None), "duration": 0.25, "sections": [("out", "é")]}
    events: list[tuple[str, dict[str, Any]]] = [
        ("collectionfinish", {"ids": ITEMS}),
        ("logstart", {"nodeid": "a.py::one"}),
        ("testreport", {"data": report}),
        ("logfinish", {"nodeid": "a.py::one"}),
        ("runtest_protocol_complete", {"item_index": 0}),
        ("logstart", {"nodeid": "a.py::three"}),
        ("internal_error", {"formatted_error": "…"}),
    ]
    for name, details in events:
        send(name, **details)
    assert len(messages) == 3
    heard: list[Any] = []
    controller = WorkerController.__new__(WorkerController)
    controller.notify_inproc = lambda name, **details: heard.append((name, details))
    controller.config = SimpleNamespace(
        hook=SimpleNamespace(pytest_report_from_serializable=lambda config, data: data)
    )
    controller.log = lambda *words: None
    for message in messages:
        controller.process_from_remote(message)
    wanted = [(name, {"node": controller} | details) for name, details in events]
    wanted[2] = ("testreport", {"node": controller, "rep": report})
    assert heard == wanted


def test_the_longest_files_are_there_once() -> None:
    assert {*LONGEST} <= {path.name for path in Path(__file__).parent.rglob("test_*.py")}
    assert len(LONGEST) == len({*LONGEST})
