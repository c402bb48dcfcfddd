from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, rmdir
import os

required_conan_version = ">=2.0.9"


class ColimitConan(ConanFile):
    name = "colimit"
    description = "A rate limiter for C++20 servers: counters in Redis or in process"
    license = "BSL-1.0"
    url = "https://github.com/conan-io/conan-center-index"
    homepage = "@homepage@"
    topics = ("rate-limiter", "redis", "valkey", "asio", "throttling")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
    }
    default_options = {
        "shared": False,
        "fPIC": True,
    }
    implements = ["auto_shared_fpic"]

    def layout(self):
        cmake_layout(self, src_folder="src")

    def requirements(self):
        self.requires("boost/1.86.0", transitive_headers=True, transitive_libs=True)
        self.requires("openssl/[>=1.1 <4]")

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.25]")

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"{self.ref} supports Linux only")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        tc = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "BENCHMARKS", "TOOL", "SERVER_MODULE"):
            tc.cache_variables[f"COLIMIT_BUILD_{part}"] = False
        tc.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        cmake = CMake(self)
        cmake.install()
        for folder in ("cmake", "cps", "pkgconfig"):
            rmdir(self, os.path.join(self.package_folder, "lib", folder))

    def package_info(self):
        self.cpp_info.libs = ["colimit"]
        self.cpp_info.requires = ["boost::headers", "boost::json", "openssl::openssl"]
        self.cpp_info.system_libs = ["pthread"]
