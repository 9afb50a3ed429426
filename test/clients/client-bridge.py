"""Makes the calls that a test writes to stdin, and prints what came of them.

Each line is JSON: first the client's options, then calls.
"""

import dataclasses
import itertools
import json
import sys
import time
import tracemalloc
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "client/python"))
sys.dont_write_bytecode = True

import deedhouse  # noqa: E402
from deedhouse import signing  # noqa: E402


class InstantClock:
    """Never waits: a sleep advances its time, and is recorded."""

    def __init__(self):
        self.passed = 0.0
        self.slept = []

    def now(self):
        return time.time() + self.passed

    def monotonic(self):
        return self.passed

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.passed += seconds


def as_json(value):
    if dataclasses.is_dataclass(value):
        return {**dataclasses.asdict(value), "type": type(value).__name__}
    if isinstance(value, types.GeneratorType):
        return {"items": list(value)}
    return value


def sign(given):
    request = signing.SignInput(**{**given, "body": given["body"].encode()})
    return {
        "string_to_sign": signing.string_to_sign(request),
        "authorization": signing.authorization_header(request),
    }


def make_client(options):
    clock = InstantClock() if options.pop("is_instant", False) else None
    notices = []
    client = deedhouse.Client(
        **options,
        on_retry=lambda notice: notices.append(notice.retry),
        clock=clock,
    )
    return client, clock, notices


def export(client, method, args, parts_max):
    """Writes a list, or its first parts, to ``file``."""
    path = args.pop("file")
    tracemalloc.start()
    with open(path, "wb") as file:
        parts = getattr(client, method)(**args)
        for part in itertools.islice(parts, parts_max):
            file.write(part)
        parts.close()
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"peak_bytes": peak_bytes}


def call(client, placed, method, args, items_max=None):
    if method == "sign":
        return sign(args)
    if method == "open":
        return make_client(args)
    if method == "methods":
        return [name for name in dir(deedhouse.Client) if not name.startswith("_")]
    # The order or account that the last call has placed.
    args = {
        name: placed if value == "placed!" else value for name, value in args.items()
    }
    if method.startswith("export_"):
        return export(client, method, args, items_max)
    statuses = []
    if method in ("finished", "provisioned"):
        args["on_status"] = lambda answer: statuses.append(answer.data["status"])
    result = getattr(client, method)(**args)
    if isinstance(result, types.GeneratorType) and items_max:
        return {"items": list(itertools.islice(result, items_max))}
    if statuses:
        return {**as_json(result), "statuses": statuses}
    return result


def main():
    client, clock, notices = make_client(json.loads(sys.stdin.readline()))
    placed = None
    for line in sys.stdin:
        said = {}
        try:
            result = call(client, placed, **json.loads(line))
            if isinstance(result, (deedhouse.PlacedOrder, deedhouse.PlacedAccount)):
                placed = result
            said["result"] = as_json(result)
        except (deedhouse.DeedhouseError, ValueError) as error:
            fields = {name: as_json(value) for name, value in vars(error).items()}
            if "errors" in fields:
                fields["errors"] = [dataclasses.asdict(one) for one in error.errors]
            kind = type(error).__name__.removesuffix("Error")
            said["error"] = {**fields, "type": kind, "message": str(error)}
        said["slept"] = clock.slept if clock else []
        said["retries"] = list(notices)
        notices.clear()
        if clock:
            clock.slept = []
        print(json.dumps(said), flush=True)


main()
