"""Tensors that only speak DLPack: any device, either version of the protocol, and a record of what was asked of them."""

import ctypes

import numpy as np

CODES = {"i": 0, "u": 1, "f": 2}
BFLOAT16, E4M3FN, E5M2 = 4, 10, 12
NEW = ctypes.pythonapi.PyCapsule_New
NEW.restype = ctypes.py_object
NEW.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("owner", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("owner", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


class Tensor:
    """The memory of a NumPy array as a tensor of `device`. `code` is DLPack's of a type that NumPy lacks."""

    def __init__(self, array, device=(1, 0), version=1, major=1, read_only=False, tight=False, code=None, lead=0):
        self.array = array
        self.device = device
        self.version = version
        self.major = major
        self.read_only = read_only
        self.tight = tight  # no strides are told
        self.code = code
        self.lead = lead  # bytes told as byte_offset
        self.streams = []
        self.alive = 0

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        if self.version == 0 and "max_version" in keywords:
            raise TypeError("no argument max_version")
        if "stream" in keywords:
            self.streams.append(keywords["stream"])
        array = self.array
        kind = np.dtype(array.dtype).kind
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        strides = (ctypes.c_int64 * array.ndim)(*(stride // array.itemsize for stride in array.strides))
        tensor = DLTensor(
            array.ctypes.data - self.lead,
            *self.device,
            array.ndim,
            CODES.get(kind, 6) if self.code is None else self.code,
            array.itemsize * 8,
            1,
            shape,
            None if self.tight else strides,
            self.lead,
        )
        managed = Managed(tensor) if self.version == 0 else Versioned(self.major, 0, None, None, self.read_only, tensor)
        self.alive += 1

        def destroyed(_):
            self.alive -= 1

        destructor = DESTRUCTOR(destroyed)
        self._kept = (shape, strides, managed, destructor, *getattr(self, "_kept", ()))
        name = b"dltensor" if self.version == 0 else b"dltensor_versioned"
        return NEW(ctypes.addressof(managed), name, destructor)
