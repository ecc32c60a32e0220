"""Conan 2: `conan create packaging/conan`. Packs the tree that this file lies in."""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rm


class TesseraConan(ConanFile):
    name = "tessera"
    description = "Tiled matrix multiplication for CPUs and NVIDIA GPUs, and a BLAS's sgemm and dgemm by it"
    license = "MIT"
    topics = ("gemm", "matrix-multiplication", "blas", "cuda")
    settings = "os", "arch", "compiler", "build_type"
    package_type = "library"
    options = {"shared": [True, False], "cuda": [True, False], "emulator": [True, False]}
    default_options = {"shared": True, "cuda": False, "emulator": False}

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "..", "..", "CMakeLists.txt"))
        self.version = re.search(r"project\(tessera VERSION ([0-9.]+)", text).group(1)

    def configure(self):
        self.settings.rm_safe("compiler.libcxx")
        self.settings.rm_safe("compiler.cppstd")

    def validate(self):
        if str(self.settings.os) != "Linux" or str(self.settings.arch) not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration("tessera is for Linux on x86_64 and armv8")

    def export_sources(self):
        tree = os.path.join(self.recipe_folder, "..", "..")
        copy(self, "CMakeLists.txt", tree, self.export_sources_folder)
        for name in "LICENSE", "README.md", "CHANGELOG.md":
            copy(self, name, tree, self.export_sources_folder)
        for folder in "cli", "cmake", "docs", "examples", "include", "kernels", "lab", "packaging", "perf", "src", "tools":
            copy(self, folder + "/*", tree, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.variables["TESSERA_CUDA"] = self.options.cuda
        toolchain.variables["TESSERA_EMU"] = self.options.emulator
        toolchain.variables["TESSERA_TESTS"] = False
        toolchain.variables["TESSERA_FULL_BLAS"] = "OFF"
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        # Both libraries are installed; the linker takes the one whose name is there. The BLAS needs libtessera.so.0.
        other = "libtessera.a" if self.options.shared else "libtessera.so"
        rm(self, other, os.path.join(self.package_folder, "lib"))

    def package_info(self):
        system = ["m", "pthread", "dl"]
        self.cpp_info.set_property("cmake_file_name", "Tessera")
        library = self.cpp_info.components["tessera"]
        library.set_property("cmake_target_name", "Tessera::tessera")
        library.set_property("pkg_config_name", "tessera")
        library.libs = ["tessera"]
        library.system_libs = system
        blas = self.cpp_info.components["tessera_blas"]
        blas.set_property("cmake_target_name", "Tessera::tessera_blas")
        blas.set_property("pkg_config_name", "tessera_blas")
        blas.libs = ["tessera_blas"]
        blas.requires = ["tessera"]
