#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030a0000
#include <Python.h>

// Fault 2: the host compiler finds it only where CUDA's include folder still holds CCCL.
#include <cuda/std/cstdint>
#include <string>

#include "helper.h"

extern "C" cuda::std::uint32_t lab_kernels();

static PyModuleDef module = {PyModuleDef_HEAD_INIT, "common_ops", nullptr, -1, nullptr};

// Stands for the symbols of torch's C++ libraries: a wheel that was compiled for another torch lacks them.
static bool same_torch() {
  PyObject* torch = PyImport_ImportModule("torch");
  if (torch == nullptr) return false;
  PyObject* version = PyObject_GetAttrString(torch, "__version__");
  PyObject* bytes = version == nullptr ? nullptr : PyUnicode_AsUTF8String(version);
  const std::string found = bytes == nullptr ? "" : PyBytes_AsString(bytes);
  Py_XDECREF(bytes);
  Py_XDECREF(version);
  Py_DECREF(torch);
  if (found == LAB_TORCH_VERSION) return true;
  PyErr_Format(PyExc_ImportError, "common_ops.abi3.so: undefined symbol: _ZN3c10lab (compiled for torch %s, this is torch %s)",
               LAB_TORCH_VERSION, found.c_str());
  return false;
}

PyMODINIT_FUNC PyInit_common_ops() {
  if (!same_torch()) return nullptr;
  PyObject* result = PyModule_Create(&module);
  if (result != nullptr) PyModule_AddIntConstant(result, "kernels", static_cast<long>(lab_kernels()) + helper_version());
  return result;
}
