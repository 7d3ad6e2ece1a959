#include "opengl/device/program.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::opengl {
namespace {

GLenum stage_of(std::string_view file) {
  if (file.ends_with(".vert")) return GL_VERTEX_SHADER;
  return file.ends_with(".geom") ? GL_GEOMETRY_SHADER : GL_FRAGMENT_SHADER;
}

template <class Read>
std::string log_of(GLint length, Read read) {
  std::string log(static_cast<std::size_t>(std::max(length, 1)), '\0');
  GLsizei written = 0;
  read(static_cast<GLsizei>(log.size()), &written, log.data());
  log.resize(static_cast<std::size_t>(written));
  while (!log.empty() && (log.back() == '\n' || log.back() == '\0')) log.pop_back();
  return log;
}

const shader_source& source_of(const program_files& files, std::string_view file) {
  const auto is_file = [&](const shader_source& s) { return s.file == file; };
  if (files.brought != nullptr) {
    const auto brought = files.brought();
    const auto own = std::ranges::find_if(brought, is_file);
    if (own != brought.end()) return *own;
  }
  const auto sources = shader_sources();
  const auto source = std::ranges::find_if(sources, is_file);
  if (source == sources.end()) throw std::logic_error(fmt::format("no shader {}", file));
  return *source;
}

/// The shaders of a program, deleted once it is linked.
class shader_list {
 public:
  shader_list() = default;
  shader_list(const shader_list&) = delete;
  shader_list& operator=(const shader_list&) = delete;
  ~shader_list() {
    for (const GLuint shader : shaders_) glDeleteShader(shader);
  }
  void attach(GLuint program, const shader_source& source) {
    shaders_.push_back(compiled_shader(source));
    glAttachShader(program, shaders_.back());
  }

 private:
  std::vector<GLuint> shaders_;
};

}  // namespace

GLuint compiled_shader(const shader_source& source) {
  const GLuint shader = glCreateShader(stage_of(source.file));
  const char* const text = source.text.data();
  const auto length = static_cast<GLint>(source.text.size());
  glShaderSource(shader, 1, &text, &length);
  glCompileShader(shader);
  GLint is_compiled = GL_FALSE;
  glGetShaderiv(shader, GL_COMPILE_STATUS, &is_compiled);
  if (is_compiled == GL_TRUE) return shader;
  GLint log_length = 0;
  glGetShaderiv(shader, GL_INFO_LOG_LENGTH, &log_length);
  const std::string log = log_of(
      log_length, [&](GLsizei size, GLsizei* written, char* to) { glGetShaderInfoLog(shader, size, written, to); });
  glDeleteShader(shader);
  throw error(error_code::device_failure, fmt::format("shader {}: the driver's compiler says {}", source.file, log));
}

program::program(const program_files& files) : name_(glCreateProgram()) {
  try {
    shader_list shaders;
    shaders.attach(name_, source_of(files, files.vertex));
    if (!files.geometry.empty()) shaders.attach(name_, source_of(files, files.geometry));
    shaders.attach(name_, source_of(files, files.fragment));
    glLinkProgram(name_);
    GLint is_linked = GL_FALSE;
    glGetProgramiv(name_, GL_LINK_STATUS, &is_linked);
    if (is_linked != GL_TRUE) {
      GLint log_length = 0;
      glGetProgramiv(name_, GL_INFO_LOG_LENGTH, &log_length);
      const std::string log = log_of(
          log_length, [&](GLsizei size, GLsizei* written, char* to) { glGetProgramInfoLog(name_, size, written, to); });
      throw error(error_code::device_failure,
                  fmt::format("shaders {} and {}: the driver's linker says {}", files.vertex, files.fragment, log));
    }
  } catch (...) {
    glDeleteProgram(name_);
    throw;
  }
}

void program::use() const { glUseProgram(name_); }

void program::set(const char* uniform, std::uint32_t value) const {
  glUniform1ui(glGetUniformLocation(name_, uniform), value);
}
void program::set(const char* uniform, std::int32_t value) const {
  glUniform1i(glGetUniformLocation(name_, uniform), value);
}
void program::set(const char* uniform, float x, float y) const {
  glUniform2f(glGetUniformLocation(name_, uniform), x, y);
}

}  // namespace sheaf::opengl
