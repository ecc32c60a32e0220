import contextlib
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Union

Shape = Tuple[int, ...]

__version__: str

class Error(RuntimeError):
    """No such device, or a device, driver or kernel that failed."""

class CommandError(RuntimeError):
    """The command failed; the message is what it printed."""

def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    alpha: float = 1.0,
    beta: Optional[float] = None,
    c: Any = None,
    stream: Optional[int] = None,
    device: Optional[str] = None,
    kernel: Optional[str] = None,
    out_dtype: Any = None,
    compute: Optional[str] = None,
    threads: int = 0,
    batch_invariant: bool = False,
) -> Any:
    """alpha * a @ b + beta * c, for matrices, vectors and stacks of them."""

class Plan:
    """A product of fixed shapes, dtypes and strides, analysed once; plan(a, b) runs it."""

    def __init__(
        self,
        a: Any,
        b: Any,
        out: Any = None,
        *,
        c: Any = None,
        dtype: Any = None,
        device: Optional[str] = None,
        kernel: Optional[str] = None,
        out_dtype: Any = None,
        compute: Optional[str] = None,
        threads: int = 0,
        batch_invariant: bool = False,
    ) -> None: ...
    def __call__(
        self,
        a: Any,
        b: Any,
        out: Any = None,
        *,
        alpha: float = 1.0,
        beta: Optional[float] = None,
        c: Any = None,
        stream: Optional[int] = None,
    ) -> Any: ...
    @property
    def kernel(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def workspace_bytes(self) -> int: ...
    @property
    def dtype(self) -> str: ...

class Prepared:
    """An operand that prepare() packed; matmul and Plan take it as a or b."""

    @property
    def shape(self) -> Tuple[int, int]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def operand(self) -> str: ...

def prepare(
    a: Any, *, operand: str = "b", device: Optional[str] = None, kernel: Optional[str] = None, rows: int = 256
) -> Prepared:
    """Packs an operand once for many products."""

class Candidate(NamedTuple):
    kernel: str
    device: str
    applicable: bool
    chosen: bool
    reason: str
    cost_ns: float
    bytes: float
    limiter: str
    schedule: str

class Route(List[Candidate]):
    @property
    def chosen(self) -> Candidate: ...
    def _repr_html_(self) -> str: ...

def route(
    a: Union[Any, Shape],
    b: Union[Any, Shape],
    *,
    c: Any = None,
    dtype: Any = None,
    device: Optional[str] = None,
    kernel: Optional[str] = None,
    out_dtype: Any = None,
    compute: Optional[str] = None,
    threads: int = 0,
    batch_invariant: bool = False,
) -> Route:
    """Every kernel's answer to the product of a and b."""

class Kernel(NamedTuple):
    name: str
    instance: str
    summary: str
    source: str
    constants: str
    dtype_ab: str
    dtype_cd: str
    is_cuda: bool
    has_device_code: bool

def kernels() -> List[Kernel]:
    """Every kernel instance of the library."""

def set_threads(threads: int) -> None:
    """CPU threads of a call, at most; 0: no limit."""

def get_threads() -> int:
    """CPU threads that a call of this thread may use."""

def threads(most: int) -> contextlib.AbstractContextManager[None]:
    """Limits the CPU threads of calls for the length of a with block."""

def blas_path() -> str:
    """The path of libtessera_blas, for LD_PRELOAD."""

def command_path() -> str:
    """The path of the command tessera that belongs to this package."""

class Explanation:
    text: str
    @property
    def html(self) -> str: ...
    def save(self, path: str) -> None: ...
    def _repr_html_(self) -> str: ...

def explain(
    kernel: str, m: Optional[int] = None, n: Optional[int] = None, k: Optional[int] = None, **options: Any
) -> Explanation:
    """What one block of a kernel does for an m x n x k product."""

class Measurements(List[dict]):
    def _repr_html_(self) -> str: ...

def bench(sizes: Union[int, Sequence[int], None] = None, kernel: str = "auto", **options: Any) -> Measurements:
    """Measures square products, or those that shapes=FILE, random=N or replay=LOG bring."""
