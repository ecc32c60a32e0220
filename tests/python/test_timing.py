"""bench/torch/timing.py: which records are compared. torch is a stub."""

import importlib.util
import json
import os
import sys
import types

import pytest


@pytest.fixture
def timing(monkeypatch):
    cuda = types.SimpleNamespace(get_device_name=lambda: "H200")
    stub = types.SimpleNamespace(bfloat16=0, float16=1, float32=2, cuda=cuda, __version__="2.9.0")
    monkeypatch.setitem(sys.modules, "torch", stub)
    path = os.path.join(os.path.dirname(__file__), "..", "..", "bench", "torch", "timing.py")
    spec = importlib.util.spec_from_file_location("timing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
