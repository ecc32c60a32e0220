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
# Records that differ in one of these are not compared; records that lack one were made before it was there.
CONDITIONS = {"tf32": False, "device": None, "torch": None, "graph": False}
# Steps before a capture, and replays between two events: the host then launches one while the GPU runs another.
WARM_UPS, REPLAYS = 3, 4


def options(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=["bf16"])
    parser.add_argument("--rounds", type=int, default=15, help="timed steps of each case (default 15)")
    parser.add_argument("--tf32", action="store_true", help="let f32 products use TF32")
    parser.add_argument("--graph", action="store_true",
                        help="capture the step, forward and backward, in a CUDA graph behind warm-up, and time replays: "
                             "without the host's time. The exit code is 1 where its loss or gradients differ from those "
                             "of the step that is not captured")
    parser.add_argument("--out", help="append the records, one JSON object a line, to this file")
    parser.add_argument("--against", help="compare with the records of this file; exit code 1 if a loss differs, a "
                                          "ratio is below --least, or a case was measured under other conditions "
                                          "alone: --tf32, GPU, version of PyTorch, --graph")
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


class Step:
    """A training step: loss() computes the loss from tensors that stay where they are, leaves get its gradients."""

    def __init__(self, leaves, loss):
        self.leaves, self.loss = list(leaves), loss

    def clear(self):
        for leaf in self.leaves:
            leaf.grad = None

    def work(self):
        loss = self.loss()
        loss.backward()
        return loss.detach()

    def __call__(self):
        self.clear()
        return self.work()

    def gradients(self):
        return [leaf.grad for leaf in self.leaves if leaf.grad is not None]

    def gradient_norm(self):
        norms = [torch.linalg.vector_norm(gradient, dtype=torch.float32) for gradient in self.gradients()]
        return float(torch.linalg.vector_norm(torch.stack(norms)))


def time_step(step, rounds, repeats=1):
    """Median milliseconds of step() on the GPU, `repeats` of them between two events, and what its last run returned.
    The clocks settle first."""
    for _ in range(5):
        value = step()
    torch.cuda.synchronize()
    times = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(repeats):
            value = step()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / repeats)
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
                    conditions = self.conditions(record)
                    self.before.setdefault((record["case"], record["dtype"]), {})[conditions] = record

    @staticmethod
    def conditions(record):
        return tuple(record.get(name, before) for name, before in CONDITIONS.items())

    def fail(self, message):
        print(message, file=sys.stderr)
        self.failures += 1

    def add(self, case, dtype, milliseconds, loss, answered, **more):
        record = {
            "case": case,
            "dtype": dtype,
            "ms": round(milliseconds, 4),
            "loss": loss,
            "answered_a_step": answered,
            "graph": self.arguments.graph,
            **more,
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
        name = f"{record['case']} {record['dtype']}"
        measured = self.before.get((record["case"], record["dtype"]), {})
        before = measured.get(self.conditions(record))
        if before is None:
            for other in measured:
                pairs = zip(CONDITIONS, self.conditions(record), other)
                apart = ", ".join(f"{condition} {now} was {then}" for condition, now, then in pairs if now != then)
                print(f"{name}: not compared: {apart}", file=sys.stderr)
            self.failures += bool(measured)
            return
        record["ratio"] = round(before["ms"] / record["ms"], 4)
        record["loss_apart"] = distance(record["loss"], before["loss"])
        if not record["loss_apart"] <= LOSS_TOLERANCE[record["dtype"]]:
            self.fail(f"{name}: loss {record['loss']} was {before['loss']}")
        if record["ratio"] < self.arguments.least:
            self.fail(f"{name}: ratio {record['ratio']} < {self.arguments.least}")


def distance(value, wanted):
    return abs(value - wanted) / max(abs(wanted), 1e-9)


def answered_by(work):
    """What work() returns, and how many calls Tessera answered meanwhile. backward() returns when all calls are made."""
    before = calls_answered()
    value = work()
    after = calls_answered()
    return value, None if before is None else after - before


def warm_up(step):
    """The step on a stream that is not the default one, as a capture needs it. Afterwards all kernels are loaded, and
    Tessera has a plan of each product: it makes none while a stream captures."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UPS - 1):
            step()
        loss, answered = answered_by(step)
    torch.cuda.current_stream().wait_stream(stream)
    return float(loss), step.gradient_norm(), answered


def capture(step):
    """A graph of the step, what holds its loss after each replay, and how many calls Tessera answered in it."""
    step.clear()  # so that the gradients lie in the graph's own memory
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        if not torch.cuda.is_current_stream_capturing():
            raise RuntimeError("the step is not captured")
        loss, answered = answered_by(step.work)
    return graph, loss, answered


def run_captured(records, case, dtype, step):
    """Captures the step, checks what a replay computes against the step itself, times replays and records them."""
    eager_loss, eager_norm, eager_answered = warm_up(step)
    graph, loss, answered = capture(step)
    for tensor in [loss, *step.gradients()]:
        tensor.fill_(float("nan"))  # a replay must write them all
    graph.replay()
    checks = {"loss": (float(loss), eager_loss), "gradient norm": (step.gradient_norm(), eager_norm)}
    for what, (captured, eager) in checks.items():
        if not distance(captured, eager) <= LOSS_TOLERANCE[dtype]:
            records.fail(f"{case} {dtype}: {what} {captured} of the graph, {eager} without it")
    if answered != eager_answered:
        print(f"{case} {dtype}: {answered} calls answered in the graph, {eager_answered} without it", file=sys.stderr)

    def replay():
        graph.replay()
        return loss

    milliseconds, loss_at_last = time_step(replay, records.arguments.rounds, REPLAYS)
    records.add(case, dtype, milliseconds, loss_at_last, answered, eager_loss=eager_loss,
                answered_an_eager_step=eager_answered)


def run_case(records, case, dtype, step):
    """Times the step and records it."""
    if records.arguments.graph:
        return run_captured(records, case, dtype, step)
    for _ in range(2):
        step()
    _, answered = answered_by(step)
    torch.cuda.synchronize()
    milliseconds, loss = time_step(step, records.arguments.rounds)
    return records.add(case, dtype, milliseconds, loss, answered)


def start(arguments):
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU")
    torch.backends.cuda.matmul.allow_tf32 = arguments.tf32
    torch.manual_seed(1)
    return Records(arguments)
