--- The place of a question: server, document and lines.
local M = {}

---@class winnow.Where
---@field lines? [integer, integer] first and last line, 1-based; the cursor's line by default
---@field mods? vim.api.keyset.cmd.mods |:command-modifiers| for the answer's window

---@class winnow.Place
---@field client vim.lsp.Client
---@field bufnr integer the buffer of the question
---@field lines [integer, integer] first and last line, 1-based
---@field params table `textDocument` with `position` or `range`; empty if the server does not know the buffer
---@field mods vim.api.keyset.cmd.mods

local START_MS = 20000

local STARTING = "winnow: the server is still starting; :checkhealth winnow says more."
local UNATTACHED = "winnow: no Winnow server is attached to this buffer. "
  .. 'Enable it with vim.lsp.enable("winnow") and open a file of a project (a directory with .git or another root '
  .. "marker, but not the home directory); :checkhealth winnow says more."

--- The server for a buffer: the attached one, for an answer that of its project, elsewhere the only one.
---@param bufnr integer
---@return vim.lsp.Client?
function M.client(bufnr)
  local attached = vim.lsp.get_clients({ name = "winnow", bufnr = bufnr })[1]
  if attached then
    return attached
  end
  local view = require("winnow.view").of(bufnr)
  local all = vim.tbl_filter(function(client)
    return not view or view:answers_to(client)
  end, vim.lsp.get_clients({ name = "winnow" }))
  return #all == 1 and all[1] or nil
end

--- The buffer's own server while it starts.
---@param bufnr integer
---@return vim.lsp.Client?
local function starting(bufnr)
  if not vim.lsp.get_clients({ name = "winnow", bufnr = bufnr })[1] then
    return vim.lsp.get_clients({ name = "winnow", bufnr = bufnr, _uninitialized = true })[1]
  end
end

local slow = {} ---@type table<integer, boolean> by client: whether it was waited for in vain

--- Wait while the buffer's own server starts, once for each.
---@param bufnr integer
---@return boolean whether none is starting now
local function started(bufnr)
  vim.wait(0) -- a client starts in the event after its file was opened
  local client = starting(bufnr)
  if client and not slow[client.id] then
    vim.notify("winnow: the server is starting", vim.log.levels.INFO)
    vim.cmd.redraw()
    slow[client.id] = not vim.wait(START_MS, function()
      return not starting(bufnr)
    end)
  end
  return not starting(bufnr)
end

--- A range of whole lines.
---@param bufnr integer
---@param lines [integer, integer]
---@param encoding "utf-8"|"utf-16"|"utf-32"
---@return lsp.Range
function M.range(bufnr, lines, encoding)
  local last = vim.api.nvim_buf_get_lines(bufnr, lines[2] - 1, lines[2], true)[1]
  return {
    start = { line = lines[1] - 1, character = 0 },
    ["end"] = { line = lines[2] - 1, character = vim.str_utfindex(last, encoding) },
  }
end

--- The place of the current window, or nil if no server can be asked; the user is told why.
---@param where winnow.Where
---@return winnow.Place?
function M.find(where)
  local bufnr, window = vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_win()
  local cursor = vim.api.nvim_win_get_cursor(window)[1]
  local client = started(bufnr) and M.client(bufnr)
  if not client then
    vim.notify(starting(bufnr) and STARTING or UNATTACHED, vim.log.levels.ERROR)
    return
  end
  local place = { client = client, bufnr = bufnr, lines = where.lines or { cursor, cursor }, mods = where.mods or {} }
  place.params = client.attached_buffers[bufnr] and M._params(place, window, where.lines ~= nil) or {}
  return place
end

---@private
---@param place winnow.Place
---@param window integer
---@param selected boolean
function M._params(place, window, selected)
  local encoding = place.client.offset_encoding
  if selected then
    local document = vim.lsp.util.make_text_document_params(place.bufnr)
    return { textDocument = document, range = M.range(place.bufnr, place.lines, encoding) }
  end
  return vim.lsp.util.make_position_params(window, encoding)
end

return M
