#!/usr/bin/env python3
# Runs the Conan recipe of the source archive as `conan create` does, with small versions of the
# parts of Conan that it imports:
#
#     conan.py RECIPE FOLDER PREFIX CMAKE CONFIGURE_OPTIONS...
#
# RECIPE is the folder with config.yml. Builds in FOLDER/build, where an earlier build with these
# options is continued, and packages to PREFIX. Ends with 1 if a step fails, and if the recipe sets an
# option that colimit does not have or describes something that is not in the package.
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import types
import urllib.request

recipe, folder, prefix, cmake, *configure_options = sys.argv[1:]
build = os.path.join(folder, "build")


class ConanFile:
    source_folder = os.path.join(folder, "src")
    package_folder = prefix
    options = {}

    def __init__(self):
        self.settings = types.SimpleNamespace(os="Linux")
        self.cpp_info = types.SimpleNamespace()
        self.required = {}

    def requires(self, reference, **traits):
        name, version = reference.split("/")
        self.required[name] = version

    tool_requires = requires


class CMakeToolchain:
    written = {}

    def __init__(self, conanfile):
        self.cache_variables = {}

    def generate(self):
        CMakeToolchain.written = self.cache_variables


class CMake:
    def __init__(self, conanfile):
        self.source_folder = conanfile.source_folder

    def configure(self):
        variables = [f"-D{name}={value}" for name, value in CMakeToolchain.written.items()]
        os.remove(os.path.join(build, "CMakeCache.txt"))
        subprocess.run([cmake, "-S", self.source_folder, "-B", build,
                        *configure_options, *variables], check=True)
        # CMake describes a variable so if no option has its name.
        with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as cache:
            unknown = re.findall(r"^//No help.*\n(COLIMIT_\w+)", cache.read(), re.MULTILINE)
        require(not unknown, f"colimit has no option {unknown}")

    def build(self):
        subprocess.run([cmake, "--build", build], check=True)

    def install(self):
        subprocess.run([cmake, "--install", build, "--prefix", prefix], check=True)


def get(conanfile, url, sha256, strip_root):
    with urllib.request.urlopen(url) as reply:
        content = reply.read()
    require(hashlib.sha256(content).hexdigest() == sha256, "the archive has another SHA-256")
    shutil.rmtree(conanfile.source_folder, ignore_errors=True)
    archive = os.path.join(folder, "archive.tar.gz")
    with open(archive, "wb") as file:
        file.write(content)
    with tarfile.open(archive) as file:
        file.extractall(conanfile.source_folder)
    root = os.path.join(conanfile.source_folder, os.listdir(conanfile.source_folder)[0])
    conanfile.source_folder = root


def copy(conanfile, pattern, src, dst):
    os.makedirs(dst, exist_ok=True)
    shutil.copy(os.path.join(src, pattern), dst)


def require(condition, what):
    if not condition:
        sys.exit(f"{recipe}: {what}")


def define(name, **contents):
    module = types.ModuleType(name)
    module.__dict__.update(contents)
    sys.modules[name] = module


define("conan", ConanFile=ConanFile)
define("conan.errors", ConanInvalidConfiguration=Exception)
define("conan.tools")
define("conan.tools.build", check_min_cppstd=lambda conanfile, standard: None)
define("conan.tools.cmake", CMake=CMake, CMakeToolchain=CMakeToolchain,
       CMakeDeps=lambda conanfile: types.SimpleNamespace(generate=lambda: None),
       cmake_layout=lambda conanfile, src_folder: None)
define("conan.tools.files", copy=copy, get=get,
       rmdir=lambda conanfile, path: shutil.rmtree(path, ignore_errors=True))


def read_yaml(path):  # of the two files, nested maps of strings
    result, levels = {}, [(-1, None)]
    levels[0] = (-1, result)
    with open(path, encoding="utf-8") as file:
        for line in file:
            indent, name, value = re.fullmatch(r'( *)"?([^":]+)"?: ?"?(.*?)"?\n', line).groups()
            while len(indent) <= levels[-1][0]:
                levels.pop()
            child = value or {}
            levels[-1][1][name] = child
            if not value:
                levels.append((len(indent), child))
    return result


[(version, where)] = read_yaml(os.path.join(recipe, "config.yml"))["versions"].items()
path = os.path.join(recipe, where["folder"], "conanfile.py")
spec = importlib.util.spec_from_file_location("conanfile", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

conanfile = module.ColimitConan()
conanfile.version = version
conanfile.conan_data = read_yaml(os.path.join(recipe, where["folder"], "conandata.yml"))
for step in ("layout", "requirements", "build_requirements", "validate", "source", "generate",
             "build", "package", "package_info"):
    getattr(conanfile, step)()

require(conanfile.homepage == "https://example.org/colimit", f"homepage is {conanfile.homepage}")
for library in conanfile.cpp_info.libs:
    path = os.path.join(prefix, "lib", f"lib{library}.so")
    require(os.path.exists(path), f"{path} does not exist")
for dependency in conanfile.cpp_info.requires:
    require(dependency.split("::")[0] in conanfile.required, f"{dependency} is not required")
# What CMakeLists.txt asks for.
with open(os.path.join(conanfile.source_folder, "CMakeLists.txt"), encoding="utf-8") as file:
    lists = file.read()
least = re.search(r"find_package\(Boost ([\d.]+)", lists).group(1)


def numbers(text):
    return [int(part) for part in re.findall(r"\d+", text)]


require(numbers(conanfile.required["boost"]) >= numbers(least), f"Boost is older than {least}")
least = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)", lists).group(1)
require(numbers(conanfile.required["cmake"]) == numbers(least), f"CMake is not {least}")
