const std = @import("std");
const Allocator = std.mem.Allocator;

/// A growing list.
pub const List = struct {
    items: []u8,

    /// Makes an empty list.
    pub fn init(allocator: Allocator) List {
        return .{ .items = &.{} };
    }

    fn grow(self: *List) !void {
        _ = self;
    }
};

extern fn puts(text: [*:0]const u8) c_int;

pub fn main() !void {
    const list = List.init(std.heap.page_allocator);
    _ = list;
}

test "init is empty" {
    try std.testing.expect(true);
}
