"""Builds outside of this folder, so that an installation leaves nothing in it.

What is built is in pyproject.toml.
"""

import atexit
import shutil
import tempfile

from setuptools import setup

folder = tempfile.mkdtemp(prefix="deedhouse-build-")
atexit.register(shutil.rmtree, folder, ignore_errors=True)
setup(options={"build": {"build_base": folder}, "egg_info": {"egg_base": folder}})
