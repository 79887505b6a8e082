--- Locations as `path:line`, and jumps to them.
local M = {}

local LINE = "():(%d+)()"

---@param client vim.lsp.Client
---@return string[]
local function folders(client)
  return vim.tbl_map(function(folder)
    return vim.uri_to_fname(folder.uri)
  end, client.workspace_folders or {})
end

--- A location as `path:first-last`, the path relative to its workspace folder.
---@param location lsp.Location
---@param client vim.lsp.Client
---@return string
function M.label(location, client)
  local path = vim.uri_to_fname(location.uri)
  for _, folder in ipairs(folders(client)) do
    path = vim.fs.relpath(folder, path) or path
  end
  local first, last = M.lines(location.range)
  return first == last and ("%s:%d"):format(path, first) or ("%s:%d-%d"):format(path, first, last)
end

--- A span as a line of a list.
---@param span table `SpanInfo`
---@param client vim.lsp.Client
---@return string
function M.span_line(span, client)
  local what = span.name == "" and span.kind or ("%s `%s`"):format(span.kind, span.name)
  return ("- `%s` %s"):format(M.label(span.location, client), what)
end

--- First and last line of a range, 1-based. A range that ends at the start of a line does not include that line.
---@param range lsp.Range
---@return integer first
---@return integer last
function M.lines(range)
  local stop = range["end"]
  local last = stop.character == 0 and stop.line > range.start.line and stop.line or stop.line + 1
  return range.start.line + 1, last
end

--- Go to the location under the cursor: a listed one, or `path:line` in the text.
---@param view winnow.View
function M.jump(view)
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local location = view:listed(row - 1) or M._written(view, vim.api.nvim_get_current_line(), column + 1)
  if not location then
    return vim.notify("winnow: no `path:line` of a file of the workspace is under the cursor", vim.log.levels.WARN)
  end
  M._leave(view)
  M._clamp(location)
  vim.lsp.util.show_document(location, view.client.offset_encoding, { focus = true, reuse_win = true })
end

--- The location of the `path:line` around a column, or else of the first in the line.
---@private
---@param view winnow.View
---@param text string
---@param column integer 1-based byte
---@return lsp.Location?
function M._written(view, text, column)
  local found
  local first = 1
  for colon, line, stop in text:gmatch(LINE) do
    local start, location = M._ending(view, text:sub(1, colon - 1), first, tonumber(line) --[[@as integer]])
    if location and start <= column and column < stop then
      return location
    end
    found = found or location
    first = stop
  end
  return found
end

--- The location whose path is the longest end of a text, and where that begins. A path may have spaces and brackets.
---@private
---@param view winnow.View
---@param text string
---@param first integer 1-based byte before which no path begins
---@param line integer 1-based
---@return integer? start
---@return lsp.Location?
function M._ending(view, text, first, line)
  for start = math.max(first, #text - 254), #text do
    local inside = text:sub(start - 1, start - 1):find("[%w_./\\-]")
    local location = not inside and M._resolve(view, text:sub(start), line)
    if location then
      return start, location
    end
  end
end

---@private
---@param view winnow.View
---@param path string as the model wrote it
---@param line integer 1-based
---@return lsp.Location?
function M._resolve(view, path, line)
  local range = { start = { line = line - 1, character = 0 }, ["end"] = { line = line - 1, character = 0 } }
  for _, location in ipairs(view.locations) do
    local first, last = M.lines(location.range)
    if vim.endswith("/" .. vim.uri_to_fname(location.uri), "/" .. path) and first <= line and line <= last then
      return first == line and location or { uri = location.uri, range = range }
    end
  end
  for _, folder in ipairs(folders(view.client)) do
    local file = vim.fs.normalize(vim.fs.joinpath(folder, path))
    if vim.fs.relpath(folder, file) and vim.uv.fs_stat(file) then
      return { uri = vim.uri_from_fname(file), range = range }
    end
  end
end

--- Move from the view's window to one with a file, so that the answer stays visible.
---@private
---@param view winnow.View
function M._leave(view)
  local before = vim.fn.win_getid(vim.fn.winnr("#"))
  local wins = vim.list_extend({ before }, vim.api.nvim_tabpage_list_wins(0))
  for _, win in ipairs(wins) do
    if vim.api.nvim_win_is_valid(win) and vim.bo[vim.api.nvim_win_get_buf(win)].buftype == "" then
      return vim.api.nvim_set_current_win(win)
    end
  end
  vim.cmd("aboveleft split")
end

--- Keep the cursor inside a file that has become shorter.
---@private
---@param location lsp.Location
function M._clamp(location)
  local bufnr = vim.uri_to_bufnr(location.uri)
  vim.fn.bufload(bufnr)
  local last = vim.api.nvim_buf_line_count(bufnr) - 1
  if location.range.start.line > last then
    location.range.start = { line = last, character = 0 }
  end
end

return M
