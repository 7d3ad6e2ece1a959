#pragma once

// libepoxy declares OpenGL and EGL, and finds their functions when they are first called. Its EGL header comes first.
#include <epoxy/egl.h>
// clang-format off
#include <epoxy/gl.h>
// clang-format on
