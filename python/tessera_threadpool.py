"""Lets threadpoolctl (3.2 or later) see and limit Tessera's threads, as it does those of other BLAS libraries:

    import tessera_threadpool
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        ...

Importing this module registers the controller. It works with libtessera, which libtessera_blas loads.
"""

import ctypes

import threadpoolctl


class TesseraController(threadpoolctl.LibController):
    user_api = "blas"
    internal_api = "tessera"
    filename_prefixes = ("libtessera",)
    check_symbols = ("tsr_set_threads", "tsr_get_threads", "tsr_version")

    def get_num_threads(self):
        return self.dynlib.tsr_get_threads()

    def set_num_threads(self, num_threads):
        if self.dynlib.tsr_set_threads(ctypes.c_int(num_threads)) != 0:
            raise ValueError(self._text("tsr_last_error"))

    def get_version(self):
        return self._text("tsr_version")

    def set_additional_attributes(self):
        self.threading_layer = "pthreads"

    def _text(self, function):
        call = getattr(self.dynlib, function)
        call.restype = ctypes.c_char_p
        return call().decode()


threadpoolctl.register(TesseraController)
