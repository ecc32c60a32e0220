"""What the scripts of this folder share: options, timing, records and their comparison."""

import argparse
import ctypes
import datetime
import json
import statistics
import sys

import torch

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
# How far two losses of the same step may lie apart: sums in another order, rounded to these types.
LOSS_TOLERANCE = {"bf16": 2e-2, "f16": 5e-3, "f32": 1e-4}
# Records that differ in one of these are not compared.
CONDITIONS = ("tf32", "device", "torch")


def options(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=["bf16"])
    parser.add_argument("--rounds", type=int, default=15, help="timed steps of each case (default 15)")
    parser.add_argument("--tf32", action="store_true", help="let f32 products use TF32")
    parser.add_argument("--out", help="append the records, one JSON object a line, to this file")
    parser.add_argument("--against", help="compare with the records of this file; exit code 1 if a loss differs, a "
                                          "ratio is below --least, or a case was measured under other conditions "
                                          "alone: --tf32, GPU, version of PyTorch")
    parser.add_argument("--least", type=float, default=0.0, help="the least ratio of --against that is accepted")
    return parser


def calls_answered():
    """How many calls of cuBLAS Tessera has answered in this process; None without libtessera_cublas."""
    try:
        count = ctypes.CDLL(None).tessera_cublas_answered
    except AttributeError:
        return None
    count.restype = ctypes.c_ulonglong
    return count()


def time_step(step, rounds):
    """Median milliseconds of step() on the GPU, and what its last run returned. The clocks settle first."""
    for _ in range(5):
        value = step()
    torch.cuda.synchronize()
    times = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        value = step()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times), float(value)


class Records:
    """Prints one record a case, and compares it with another run's."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.failures = 0
        self.before = {}
        if arguments.against:
            with open(arguments.against, encoding="utf-8") as lines:
                for line in lines:
                    record = json.loads(line)
                    conditions = tuple(record[name] for name in CONDITIONS)
                    self.before.setdefault((record["case"], record["dtype"]), {})[conditions] = record

    def add(self, case, dtype, milliseconds, loss, answered):
        record = {
            "case": case,
            "dtype": dtype,
            "ms": round(milliseconds, 4),
            "loss": loss,
            "answered_a_step": answered,
            "tf32": self.arguments.tf32,
            "device": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "date": datetime.date.today().isoformat(),
        }
        self.compare(record)
        text = json.dumps(record)
        print(text, flush=True)
        if self.arguments.out:
            with open(self.arguments.out, "a", encoding="utf-8") as out:
                out.write(text + "\n")

    def compare(self, record):
        measured = self.before.get((record["case"], record["dtype"]), {})
        before = measured.get(tuple(record[name] for name in CONDITIONS))
        if before is None:
            for other in measured.values():
                names = [name for name in CONDITIONS if record[name] != other[name]]
                apart = ", ".join(f"{name} {record[name]} was {other[name]}" for name in names)
                print(f"{record['case']} {record['dtype']}: not compared: {apart}", file=sys.stderr)
            self.failures += bool(measured)
            return
        record["ratio"] = round(before["ms"] / record["ms"], 4)
        apart = abs(record["loss"] - before["loss"]) / max(abs(before["loss"]), 1e-9)
        record["loss_apart"] = apart
        if not apart <= LOSS_TOLERANCE[record["dtype"]]:
            print(f"{record['case']} {record['dtype']}: loss {record['loss']} was {before['loss']}", file=sys.stderr)
            self.failures += 1
        if record["ratio"] < self.arguments.least:
            print(f"{record['case']} {record['dtype']}: ratio {record['ratio']} < {self.arguments.least}",
                  file=sys.stderr)
            self.failures += 1


def run_case(records, case, dtype, step):
    """Times step(), which returns its loss, and records it."""
    for _ in range(2):
        step()
    before = calls_answered()
    step()
    torch.cuda.synchronize()
    after = calls_answered()
    milliseconds, loss = time_step(step, records.arguments.rounds)
    records.add(case, dtype, milliseconds, loss, None if before is None else after - before)


def start(arguments):
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU")
    torch.backends.cuda.matmul.allow_tf32 = arguments.tf32
    torch.manual_seed(1)
    return Records(arguments)
