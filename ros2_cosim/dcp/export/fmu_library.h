// Copyright 2026 ros2_cosim contributors
// SPDX-License-Identifier: Apache-2.0
#ifndef FMU_LIBRARY_H_
#define FMU_LIBRARY_H_
// What the libraries of FMI 2.0 and 3.0 share, for an FMU that is a scenario: each of its functions is
// one exchange with the process that has the scenario (ros2_cosim/dcp/export/fmu_instance.py).
//
// An exchange is a request (length, operation, data) and an answer (length, status, data) over a socket
// that these two processes alone have. The process ends when its end of the socket is closed: with
// fmi2FreeInstance, and when the importing process ends for whatever reason.

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern char **environ;

namespace {

enum Status { kOk = 0, kWarning = 1, kDiscard = 2, kError = 3, kFatal = 4 };

// The file descriptor that the socket has in the process.
constexpr int kSocketOfProcess = 3;
// The process has written its results when it is told to go: what is left takes a moment.
constexpr int kPatienceMs = 10000;
constexpr int kLookMs = 5;
constexpr int kOpenDirectories = 8;

struct Instance {
  std::string name;
  // Tells the importer a line, as its version of FMI does.
  void (*report)(const Instance &, int status, const std::string &text) = nullptr;
  const void *logger = nullptr;
  void *environment = nullptr;
  int socket = -1;
  pid_t process = -1;
  // Directory that the process made for itself and removes, unless it is killed; or empty.
  std::string scratch;
  // The strings that were given last; valid until the next call.
  std::vector<std::string> texts;
  double time = 0.0;

  int say(int status, const std::string &text) const {
    if (report != nullptr) report(*this, status, text);
    return status;
  }
};

template <typename T>
void put(std::string &data, T value) {
  data.append(reinterpret_cast<const char *>(&value), sizeof value);
}

void put_text(std::string &data, const char *text) {
  const std::string value = text == nullptr ? "" : text;
  put<uint32_t>(data, static_cast<uint32_t>(value.size()));
  data += value;
}

template <typename T>
bool take(const std::string &data, size_t &at, T &value) {
  if (data.size() - at < sizeof value) return false;
  std::memcpy(&value, data.data() + at, sizeof value);
  at += sizeof value;
  return true;
}

bool send_all(int socket, const std::string &data) {
  for (size_t sent = 0; sent < data.size();) {
    const ssize_t n = send(socket, data.data() + sent, data.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

bool receive(int socket, char *data, size_t size) {
  while (size > 0) {
    const ssize_t n = recv(socket, data, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

// One exchange; the data of a good answer replace `data`.
int ask(Instance *instance, char operation, std::string &data) {
  std::string request;
  put<uint32_t>(request, static_cast<uint32_t>(data.size() + 1));
  request += operation;
  request += data;
  uint32_t length = 0;
  char status = kFatal;
  if (instance->socket < 0 || !send_all(instance->socket, request) ||
      !receive(instance->socket, reinterpret_cast<char *>(&length), sizeof length) ||
      length == 0 || !receive(instance->socket, &status, 1)) {
    return instance->say(kFatal, "the process of the scenario has ended");
  }
  std::string answer(length - 1, '\0');
  if (!receive(instance->socket, &answer[0], answer.size())) {
    return instance->say(kFatal, "the process of the scenario has ended");
  }
  if (status != kOk) return instance->say(status, answer);
  data.swap(answer);
  return kOk;
}

int tell(void *component, char operation, std::string data = "") {
  return ask(static_cast<Instance *>(component), operation, data);
}

std::string references(const unsigned *which, size_t count) {
  std::string data;
  put<uint32_t>(data, static_cast<uint32_t>(count));
  for (size_t i = 0; i < count; ++i) put<uint32_t>(data, which[i]);
  return data;
}

// Values cross the socket as a type of their own.
template <typename Wire, typename T>
int get(void *component, char kind, const unsigned *which, size_t count, T *values) {
  std::string data = references(which, count);
  const int status = ask(static_cast<Instance *>(component), kind, data);
  size_t at = 0;
  for (size_t i = 0; status == kOk && i < count; ++i) {
    Wire value;
    if (!take(data, at, value)) return kFatal;
    values[i] = static_cast<T>(value);
  }
  return status;
}

template <typename Wire, typename T>
int set(void *component, char kind, const unsigned *which, size_t count, const T *values) {
  std::string data = references(which, count);
  for (size_t i = 0; i < count; ++i) put<Wire>(data, values[i]);
  return tell(component, kind, data);
}

int get_texts(void *component, const unsigned *which, size_t n, const char **values) {
  Instance *instance = static_cast<Instance *>(component);
  std::string data = references(which, n);
  const int status = ask(instance, 't', data);
  if (status != kOk) return status;
  instance->texts.assign(n, "");
  size_t at = 0;
  for (size_t i = 0; i < n; ++i) {
    uint32_t length = 0;
    if (!take(data, at, length) || data.size() - at < length) return kFatal;
    instance->texts[i] = data.substr(at, length);
    at += length;
    values[i] = instance->texts[i].c_str();
  }
  return kOk;
}

int set_texts(void *component, const unsigned *which, size_t n, const char *const *values) {
  std::string data = references(which, n);
  for (size_t i = 0; i < n; ++i) put_text(data, values[i]);
  return tell(component, '4', data);
}

int setup(void *component, double start_time) {
  static_cast<Instance *>(component)->time = start_time;
  std::string data;
  put<double>(data, start_time);
  return tell(component, 'S', data);
}

int begin(void *component) {
  Instance *instance = static_cast<Instance *>(component);
  std::string data;
  const int status = ask(instance, 'X', data);
  if (status == kOk) instance->scratch = data;
  return status;
}

int step(void *component, double time, double size) {
  std::string data;
  put<double>(data, time);
  put<double>(data, size);
  const int status = tell(component, 'D', data);
  if (status == kOk) static_cast<Instance *>(component)->time = time + size;
  return status;
}

int refuse(void *component, const char *what) {
  return static_cast<Instance *>(component)->say(kError, std::string(what) + ": not offered");
}

// The command that starts the process: one word a line, as written by the export.
std::vector<std::string> command_of(const std::string &resources) {
  std::vector<std::string> words;
  if (FILE *file = std::fopen((resources + "/command.txt").c_str(), "re")) {
    words.emplace_back();
    for (int c; (c = std::getc(file)) != EOF;) {
      if (c == '\n') {
        words.emplace_back();
      } else {
        words.back() += static_cast<char>(c);
      }
    }
    std::fclose(file);
  }
  const char *interpreter = std::getenv("COSIM_PYTHON");
  if (!words.empty() && interpreter != nullptr && *interpreter != '\0') words[0] = interpreter;
  return words;
}

// Starts the process; 0, or the number of the error.
int start(Instance *instance, std::vector<std::string> words) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
  std::vector<char *> arguments;
  for (std::string &word : words) arguments.push_back(&word[0]);
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kSocketOfProcess);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  // An interrupt from the keyboard is for the importer, which frees the instance or ends.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int error = posix_spawn(&instance->process, arguments[0], &actions, &attributes,
                                arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    instance->process = -1;
    return error;
  }
  instance->socket = ends[0];
  return 0;
}

bool has_ended(pid_t process, int patience_ms) {
  for (int waited = 0;; waited += kLookMs) {
    const pid_t found = waitpid(process, nullptr, WNOHANG);
    if (found == process || (found < 0 && errno != EINTR)) return true;
    if (waited >= patience_ms) return false;
    usleep(kLookMs * 1000);
  }
}

int remove_one(const char *path, const struct stat *, int, struct FTW *) {
  std::remove(path);
  return 0;
}

void end(Instance *instance) {
  if (instance->socket >= 0) close(instance->socket);
  if (instance->process > 0 && !has_ended(instance->process, kPatienceMs)) {
    kill(instance->process, SIGKILL);
    waitpid(instance->process, nullptr, 0);
  }
  if (!instance->scratch.empty()) {
    nftw(instance->scratch.c_str(), remove_one, kOpenDirectories, FTW_DEPTH | FTW_PHYS);
  }
  delete instance;
}

// The instance whose process has been started, or null.
Instance *instantiate(Instance *instance, const std::string &resources, const char *token) {
  std::vector<std::string> words = command_of(resources);
  if (words.empty()) {
    instance->say(kError, "instantiate: no resources at " + resources);
  } else {
    words.push_back(resources);
    words.push_back(token == nullptr ? "" : token);
    const int error = start(instance, words);
    if (error != 0) {
      instance->say(kError, "instantiate: cannot start " + words[0] + ": " + std::strerror(error) +
                                " (COSIM_PYTHON names the Python of ros2_cosim)");
    } else if (tell(instance, 'I') == kOk) {
      return instance;
    }
  }
  end(instance);
  return nullptr;
}

}  // namespace

#define FMI extern "C" __attribute__((visibility("default")))

#endif
