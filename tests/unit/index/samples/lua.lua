local json = require("json")
local util = require("app.util")

local LIMIT = 8

local Stack = {}
Stack.__index = Stack

-- Makes an empty stack.
function Stack.new()
  return setmetatable({ items = {} }, Stack)
end

function Stack:push(item)
  if #self.items < LIMIT then
    table.insert(self.items, item)
  end
end

local function dump(stack)
  return json.encode(stack.items)
end

Stack.peek = function(self)
  return self.items[#self.items]
end

Stack.show = util.later(function(self)
  print(dump(self))
end)

return Stack
