/// Values to bytes and back, for messages between ranks of one run (same program, same byte order).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "pardnn/error.hpp"
#include "ranks/ranks.hpp"

namespace pardnn {

class ByteWriter {
 public:
  template <typename T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(&value, sizeof value);
  }
  template <typename T>
  void put_all(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    put(static_cast<std::uint64_t>(values.size()));
    append(values.data(), values.size() * sizeof(T));
  }
  void put_text(const std::string& text) {
    put(static_cast<std::uint64_t>(text.size()));
    append(text.data(), text.size());
  }
  ByteBuffer take() { return std::move(bytes_); }

 private:
  void append(const void* data, std::size_t size) {
    if (size == 0) return;
    const std::size_t at = bytes_.size();
    bytes_.resize(at + size);
    std::memcpy(bytes_.data() + at, data, size);
  }
  ByteBuffer bytes_;
};

/// Reads what a ByteWriter wrote, in the same order. Throws SystemError past the end.
class ByteReader {
 public:
  explicit ByteReader(const ByteBuffer& bytes) : bytes_(bytes) {}

  template <typename T>
  T get() {
    T value;
    copy(&value, sizeof value);
    return value;
  }
  template <typename T>
  std::vector<T> get_all() {
    std::vector<T> values(checked_count(sizeof(T)));
    copy(values.data(), values.size() * sizeof(T));
    return values;
  }
  std::string get_text() {
    std::string text(checked_count(1), '\0');
    copy(text.data(), text.size());
    return text;
  }

 private:
  std::size_t checked_count(std::size_t element) {
    const auto count = get<std::uint64_t>();
    if (count > (bytes_.size() - at_) / element) fail();
    return static_cast<std::size_t>(count);
  }
  void copy(void* to, std::size_t size) {
    if (size > bytes_.size() - at_) fail();
    if (size > 0) std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
  }
  [[noreturn]] static void fail() { throw SystemError("a message between ranks is cut short: do all ranks run the same program?"); }

  const ByteBuffer& bytes_;
  std::size_t at_ = 0;
};

}  // namespace pardnn
