"""What the command does: explanations and measurements. The wheel brings it; Python only calls it and shows the answer."""

import html
import json
import os
import subprocess

from tessera import _core


class CommandError(RuntimeError):
    """The command failed; the message is what it printed."""


def command_path():
    """The path of the command `tessera` that belongs to this package."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "tessera")


def _run(*arguments):
    done = subprocess.run([command_path(), *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise CommandError((done.stderr or done.stdout).strip())
    return done.stdout


def _text(name, value):
    """One value as the command takes it, which names dtypes in its own way and refuses what is none."""
    return name.endswith("dtype") and _core.dtype_name(value) or str(value)


def _options(given):
    """--name value for each option that is given; True is a switch."""
    arguments = []
    for name, value in given.items():
        if value is None or value is False:
            continue
        arguments.append("--" + name.replace("_", "-"))
        if value is not True:
            values = value if isinstance(value, (list, tuple)) else [value]
            arguments.append(",".join(_text(name, one) for one in values))
    return arguments


def route_elsewhere(m, n, k, batch, **options):
    """What `tessera route` says of a GPU that need not be here: a dict for each kernel."""
    lines = _run("route", str(m), str(n), str(k), "--batch", str(batch), *_options(options), "--format", "json")
    return [json.loads(line) for line in lines.splitlines() if line]


class Explanation:
    """What one block of a kernel does, phase by phase: text when printed, a page to step through in a notebook."""

    def __init__(self, kernel, arguments):
        self._kernel = kernel
        self._arguments = arguments
        self.text = _run("explain", kernel, *arguments)
        self._html = None

    @property
    def html(self):
        """One page that needs nothing else."""
        if self._html is None:
            self._html = _run("explain", self._kernel, *self._arguments, "--format", "html")
        return self._html

    def save(self, path):
        """Writes the page."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"<tessera.Explanation of {' '.join([self._kernel, *self._arguments])}>"

    def _repr_html_(self):
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:720px;border:0"></iframe>'


def explain(kernel, m=None, n=None, k=None, **options):
    """What one block of `kernel` does for an m x n x k product, as an Explanation.

    Options are those of `tessera explain`, by name: tile=, block="0,1", thread="5,2", phase=, warp=, all=True, dtype=,
    tf32=True, layout=. The kernel's own code runs in the emulator; no GPU is needed.
    """
    return Explanation(kernel, _options({"m": m, "n": n, "k": k, **options}))


class Measurements(list):
    """Results of `bench`: a dict for each kernel and size. Prints and shows as a table."""

    _columns = (("kernel", "kernel", str), ("M", "m", str), ("N", "n", str), ("K", "k", str),
                ("us", "time_us", "{:.2f}".format), ("GFLOP/s", "gflops", "{:.1f}".format),
                ("% of peak", "peak_pct", "{:.1f}".format), ("peer", "peer", str), ("peer/ours", "ratio", "{:.3f}".format))

    def _table(self):
        columns = [column for column in self._columns if any(one[column[1]] is not None for one in self)]
        rows = [["" if one[key] is None else show(one[key]) for _, key, show in columns] for one in self]
        return [head for head, _, _ in columns], rows

    def __str__(self):
        head, rows = self._table()
        lines = [head, *rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines)

    def _repr_html_(self):
        head, rows = self._table()
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return "<table><tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + f"</tr>{body}</table>"


def bench(sizes=None, kernel="auto", **options):
    """Measures square products, or those that shapes=FILE, random=N or replay=LOG bring, and returns Measurements.

    Options are those of `tessera bench`, by name: dtype=, layout=, vs="openblas", device=, rounds=, threads=.
    """
    if sizes is None and all(options.get(name) is None for name in ("shapes", "random", "replay")):
        sizes = 32, 256, 1024
    if sizes is not None:
        options["sizes"] = sizes if isinstance(sizes, (list, tuple)) else [sizes]
    lines = _run("bench", *_options({"kernel": kernel, **options}), "--format", "json")
    return Measurements(json.loads(line) for line in lines.splitlines() if line)


def main():
    """The command `tessera`, in place of this process."""
    import sys

    path = command_path()
    os.execv(path, ["tessera", *sys.argv[1:]])
