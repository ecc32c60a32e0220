"""bench/torch: which records are compared, and how a step is captured in a graph. torch is a stub."""

import contextlib
import importlib.util
import json
import math
import os
import sys
import types

import pytest


FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "bench", "torch")


class Tensor:
    def __init__(self, value):
        self.value = value

    def __float__(self):
        return float(self.value)

    def fill_(self, value):
        self.value = value

    def detach(self):
        return self


class Torch:
    """As much of torch as the scripts ask for. `did` is what happened; a graph replays what was done in its capture."""

    def __init__(self):
        self.did, self.captured, self.work = [], False, None
        self.linalg = types.SimpleNamespace(vector_norm=self.norm)
        event = lambda enable_timing: types.SimpleNamespace(
            record=lambda: self.did.append("record"), synchronize=lambda: None, elapsed_time=lambda end: 8.0
        )
        self.cuda = types.SimpleNamespace(
            get_device_name=lambda: "H200",
            is_available=lambda: True,
            synchronize=lambda: self.check_outside("synchronize"),
            empty_cache=lambda: None,
            current_stream=lambda: self.stream("default"),
            Stream=lambda: self.stream("side"),
            stream=self.on_stream,
            Event=event,
            CUDAGraph=lambda: types.SimpleNamespace(replay=self.replay),
            graph=self.capture,
            is_current_stream_capturing=lambda: self.captured,
        )
        self.backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()))
        self.nn = types.SimpleNamespace(Module=object, functional=types.SimpleNamespace())
        self.bfloat16, self.float16, self.float32, self.__version__ = 0, 1, 2, "2.9.0"

    @staticmethod
    def manual_seed(seed):
        pass

    @staticmethod
    def stack(tensors):
        return tensors

    @staticmethod
    def norm(of, dtype=None):
        return Tensor(math.sqrt(sum(float(one) ** 2 for one in (of if isinstance(of, list) else [of]))))

    def check_outside(self, what):
        assert not self.captured, f"{what} while a stream captures"

    def stream(self, name):
        return types.SimpleNamespace(name=name, wait_stream=lambda other: self.did.append(f"{name} waits {other.name}"))

    @contextlib.contextmanager
    def on_stream(self, stream):
        self.did.append("on " + stream.name)
        yield
        self.did.append("off " + stream.name)

    @contextlib.contextmanager
    def capture(self, graph):
        self.captured = True
        self.did.append("capture")
        yield
        self.captured = False

    def replay(self):
        self.did.append("replay")
        self.work()


@pytest.fixture
def torch(monkeypatch):
    stub = Torch()
    monkeypatch.setitem(sys.modules, "torch", stub)
    monkeypatch.setitem(sys.modules, "torch.nn", stub.nn)
    return stub


def load(name, monkeypatch=None):
    spec = importlib.util.spec_from_file_location(name, os.path.join(FOLDER, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    if monkeypatch:
        monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def timing(torch, monkeypatch):
    return load("timing", monkeypatch)


def record(**others):
    conditions = {"tf32": False, "device": "H200", "torch": "2.9.0"}
    return {"case": "layer", "dtype": "f32", "ms": 2.0, "loss": 1.0, **conditions, **others}


def compare(timing, tmp_path, before, *options):
    path = tmp_path / "before.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in before))
    arguments = timing.options("").parse_args(["--against", str(path), "--out", str(tmp_path / "out"), *options])
    records = timing.Records(arguments)
    records.add("layer", "f32", 1.0, 1.0, None)
    return records.failures, json.loads((tmp_path / "out").read_text().splitlines()[-1]).get("ratio")


def test_same_conditions(timing, tmp_path):
    assert compare(timing, tmp_path, [record()]) == (0, 2.0)
    assert compare(timing, tmp_path, [record()], "--least", "3") == (1, 2.0)
    assert compare(timing, tmp_path, [record(loss=1.1)]) == (1, 2.0)
    assert compare(timing, tmp_path, [record(case="another")]) == (0, None)


@pytest.mark.parametrize(
    "other, told",
    [
        ({"tf32": True}, "layer f32: not compared: tf32 False was True"),
        ({"device": "A100"}, "layer f32: not compared: device H200 was A100"),
        ({"torch": "2.8.0"}, "layer f32: not compared: torch 2.9.0 was 2.8.0"),
    ],
)
def test_other_conditions(timing, tmp_path, capsys, other, told):
    assert compare(timing, tmp_path, [record(ms=9.0, **other)]) == (1, None)
    assert capsys.readouterr().err == told + "\n"
    # The record under the same conditions is the one that counts, wherever it stands.
    assert compare(timing, tmp_path, [record(), record(ms=9.0, **other)]) == (0, 2.0)
    assert capsys.readouterr().err == ""


class Leaf:
    grad = None


def step_on(torch, timing, in_graph=(1.0, 3.0), calls=None):
    """A step with one leaf: its loss is 1 and its gradient 3, in a replay what `in_graph` says, None: not written."""
    leaf = Leaf()
    loss = Tensor(0.0)

    def compute():
        torch.did.append("step")
        if calls:
            calls["answered"] += calls["captured" if torch.captured else "eager"]
        if torch.captured:
            loss.value = None  # nothing runs while a stream captures

        def backward():
            torch.did.append("backward")
            assert leaf.grad is None, "a gradient is added to"
            leaf.grad = Tensor(None if torch.captured else 3.0)

        if not torch.captured:
            return types.SimpleNamespace(backward=backward, detach=lambda: Tensor(1.0))
        gradient = lambda: leaf.grad

        def work():
            for tensor, value in zip((loss, gradient()), in_graph):
                if value is not None:
                    tensor.value = value

        torch.work = work
        return types.SimpleNamespace(backward=backward, detach=lambda: loss)

    return timing.Step([leaf, Leaf()], compute)


def run_graph(torch, timing, tmp_path, **options):
    out = tmp_path / "out"
    arguments = timing.options("").parse_args(["--graph", "--rounds", "2", "--out", str(out)])
    records = timing.Records(arguments)
    timing.run_case(records, "layer", "bf16", step_on(torch, timing, **options))
    return records.failures, json.loads(out.read_text())


def test_graph(torch, timing, tmp_path):
    failures, record = run_graph(torch, timing, tmp_path)
    assert failures == 0
    assert (record["graph"], record["ms"], record["loss"], record["eager_loss"]) == (True, 2.0, 1.0, 1.0)
    assert record["answered_a_step"] is None and record["answered_an_eager_step"] is None
    step = ["step", "backward"]
    warm = ["side waits default", "on side", *3 * step, "off side", "default waits side"]
    round_ = ["record", *4 * ["replay"], "record"]
    assert torch.did == [*warm, "capture", *step, "replay", *5 * ["replay"], *2 * round_]


@pytest.mark.parametrize(
    "in_graph, told",
    [
        ((1.1, 3.0), "layer bf16: loss 1.1 of the graph, 1.0 without it\n"),
        ((1.0, 4.0), "layer bf16: gradient norm 4.0 of the graph, 3.0 without it\n"),
        ((1.0, None), "layer bf16: gradient norm nan of the graph, 3.0 without it\n"),
        ((1.01, 3.03), ""),
    ],
)
def test_graph_that_computes_something_else(torch, timing, tmp_path, capsys, in_graph, told):
    failures, _ = run_graph(torch, timing, tmp_path, in_graph=in_graph)
    assert capsys.readouterr().err == told and failures == bool(told)


def test_graph_counts_calls(torch, timing, tmp_path, monkeypatch, capsys):
    calls = {"answered": 100, "eager": 7, "captured": 5}
    monkeypatch.setattr(timing, "calls_answered", lambda: calls["answered"])
    failures, record = run_graph(torch, timing, tmp_path, calls=calls)
    assert (failures, record["answered_a_step"], record["answered_an_eager_step"]) == (0, 5, 7)
    assert capsys.readouterr().err == "layer bf16: 5 calls answered in the graph, 7 without it\n"


def test_graph_that_is_none(torch, timing, tmp_path):
    torch.cuda.is_current_stream_capturing = lambda: False
    with pytest.raises(RuntimeError, match="not captured"):
        run_graph(torch, timing, tmp_path)


def test_graph_is_compared_with_graph(timing, tmp_path, capsys):
    # Records that were made before there were graphs are of steps without one.
    assert compare(timing, tmp_path, [record()], "--graph") == (1, None)
    assert capsys.readouterr().err == "layer f32: not compared: graph True was False\n"
    assert compare(timing, tmp_path, [record(graph=True)], "--graph") == (0, 2.0)
    assert compare(timing, tmp_path, [record(graph=False)]) == (0, 2.0)


def test_layers_that_are_captured(timing, monkeypatch, capsys):
    layers = load("layers")
    parser = timing.options("")
    parser.add_argument("--cases", nargs="+", choices=layers.CASES, default=list(layers.CASES))
    assert layers.cases_of(parser.parse_args([])) == ["bert-large-layer", "llama-block", "experts"]
    assert layers.cases_of(parser.parse_args(["--graph"])) == ["bert-large-layer", "llama-block"]
    assert capsys.readouterr().err == "experts: left out: its step cannot be captured\n"


@pytest.mark.parametrize("script, cases", [("gpt2_step", 2), ("layers", 2)])
def test_scripts_capture(torch, timing, monkeypatch, tmp_path, script, cases):
    module = load(script)
    monkeypatch.setattr(module, "make_step", lambda *arguments: step_on(torch, timing))
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", [script, "--graph", "--rounds", "1", "--out", str(out)])
    assert module.main() == 0
    assert [json.loads(line)["graph"] for line in out.read_text().splitlines()] == cases * [True]
