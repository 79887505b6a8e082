import 'dart:async';
part 'counter.g.dart';

typedef Step = int Function(int);
const limit = 10;

/// Doubles a number.
int twice(int value) {
  return value * 2;
}

/// Counts.
@immutable
class Counter extends Base {
  final int start;
  int _value = 0;

  Counter(this.start);

  Counter.from(int other) : start = other {
    _value = other;
  }

  factory Counter.zero() => Counter(0);

  /// One more.
  @override
  void increment() {
    _value++;
  }

  int get value => _value;
  set value(int other) {
    _value = other;
  }
}

mixin Resettable on Base {
  void reset() {}
}

extension Shout on String {
  String shout() => toUpperCase();
}

enum Level { low, high }
