"""Conan 2: `conan create packaging/conan`. Packs the tree that this file lies in."""

import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


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

    def package_info(self):
        system = ["m", "pthread", "dl"]
        self.cpp_info.set_property("cmake_file_name", "Tessera")
        library = self.cpp_info.components["tessera"]
        library.set_property("cmake_target_name", "Tessera::Tessera")
        library.set_property("pkg_config_name", "tessera")
        library.libs = ["tessera"] if self.options.shared else [":libtessera.a"]
        library.system_libs = system
        blas = self.cpp_info.components["tessera_blas"]
        blas.set_property("cmake_target_name", "Tessera::tessera_blas")
        blas.set_property("pkg_config_name", "tessera_blas")
        blas.libs = ["tessera_blas"]
        blas.requires = ["tessera"]
