#include <string>
#include <vector>

using std::string;

namespace text {

// Splits on one character.
template <typename Out>
void split(const string &line, char by, Out out) {
    size_t start = 0;
    for (size_t at; (at = line.find(by, start)) != string::npos; start = at + 1) {
        *out++ = line.substr(start, at - start);
    }
}

class Lexer : public Base {
public:
    explicit Lexer(string source) : source_(std::move(source)) {}
    ~Lexer() = default;

    int next();

    bool operator==(const Lexer &other) const {
        return source_ == other.source_;
    }

private:
    string source_;
};

int Lexer::next() {
    return source_.empty() ? -1 : source_[0];
}

struct Point {
    int x, y;
};

}  // namespace text

int main(int argc, char **argv) {
    text::Lexer lexer{argv[argc - 1]};
    return lexer.next();
}

// The smaller of two.
template <typename T>
const T &smaller(const T &one, const T &other) {
    return other < one ? other : one;
}

template <typename T>
T *data_of(Buffer<T> &buffer) {
    return buffer.data();
}

struct Money {
    int cents;
    int compare(const Money &other) const;
    static constexpr int kCentsInEachOfTheCoinsOfThisCurrency = 100;

    template <typename T>
    friend bool operator<(const Money &one, const T &other) {
        return one.cents < other;
    }
};
