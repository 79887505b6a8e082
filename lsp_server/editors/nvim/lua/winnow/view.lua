--- A scratch Markdown buffer that grows at its end, with locations to jump to.
local api = vim.api

---@class winnow.View
---@field bufnr integer
---@field client vim.lsp.Client
---@field locations lsp.Location[] every location shown so far
---@field conversation? string the id of the conversation that the view holds, if any
---@field turns { question: string, answer: string }[] the conversation's turns with an answer, whole or cancelled, in order
---@field request? winnow.Request the request that is filling the buffer
---@field private _listed table<integer, lsp.Location> the location of a line, by extmark
---@field private _stage? string
local View = {}
View.__index = View

local STAGE = api.nvim_create_namespace("winnow.stage")
local NOTES = api.nvim_create_namespace("winnow.notes")
local LISTED = api.nvim_create_namespace("winnow.listed")

local views = {} ---@type table<integer, winnow.View>
local count = 0

--- An empty view, not yet shown.
---@param kind "answer"|"spans"
---@param client vim.lsp.Client
---@return winnow.View
function View.new(kind, client)
  count = count + 1
  local bufnr = api.nvim_create_buf(false, true)
  api.nvim_buf_set_name(bufnr, ("winnow://%s/%d"):format(kind, count))
  vim.bo[bufnr].filetype = "markdown"
  vim.bo[bufnr].undolevels = -1
  vim.bo[bufnr].modifiable = false
  local view = setmetatable({ bufnr = bufnr, client = client, locations = {}, turns = {}, _listed = {} }, View)
  views[bufnr] = view
  view:_set_keys()
  return view
end

--- The view of a buffer, if it is one.
---@param bufnr integer
---@return winnow.View?
function View.of(bufnr)
  return views[bufnr]
end

--- Whether the view belongs to a client, or to an earlier one for the same project.
---@param client vim.lsp.Client
---@return boolean
function View:answers_to(client)
  return self.client == client or (self.client:is_stopped() and self.client.root_dir == client.root_dir)
end

--- The views in windows of the current tab page.
---@return winnow.View[]
function View.visible()
  return vim
    .iter(api.nvim_tabpage_list_wins(0))
    :map(function(win)
      return views[api.nvim_win_get_buf(win)]
    end)
    :totable()
end

--- Go to a window with the view: one that shows it, else one with another view, else a new one.
---@param mods vim.api.keyset.cmd.mods
function View:show(mods)
  local win = vim.fn.bufwinid(self.bufnr)
  local other = View.visible()[1]
  if win == -1 and other then
    win = vim.fn.bufwinid(other.bufnr)
    api.nvim_win_set_buf(win, self.bufnr)
  end
  if win ~= -1 then
    api.nvim_set_current_win(win)
  else
    local split = (mods.split or "") == "" and "botright" or mods.split
    vim.cmd.sbuffer({ self.bufnr, mods = vim.tbl_extend("force", mods, { split = split }) })
  end
  vim.wo[0][0].wrap, vim.wo[0][0].linebreak = true, true
  api.nvim_win_set_cursor(0, { api.nvim_buf_line_count(self.bufnr), 0 })
end

--- Add text at the end. Only cursors on the last line follow.
---@param text string
function View:append(text)
  local row, column = self:last()
  self:_write(function()
    api.nvim_buf_set_text(self.bufnr, row, column, row, column, vim.split(text, "\n", { plain = true }))
  end)
end

--- Add text at the end, after a blank line.
---@param text string
function View:paragraph(text)
  local row, column = self:last()
  local above = row > 0 and api.nvim_buf_get_lines(self.bufnr, row - 1, row, true)[1] or ""
  self:append((column > 0 and "\n\n" or above ~= "" and "\n" or "") .. text)
end

--- Replace everything from a position on.
---@param row integer 0-based
---@param column integer bytes
---@param text string
function View:replace_from(row, column, text)
  local last_row, last_column = self:last()
  self:_write(function()
    local lines = vim.split(text, "\n", { plain = true })
    api.nvim_buf_set_text(self.bufnr, row, column, last_row, last_column, lines)
  end)
end

--- Take back everything from a position on, with the locations listed there.
---@param row integer 0-based
---@param column integer bytes
function View:cut(row, column)
  api.nvim_buf_clear_namespace(self.bufnr, LISTED, row, -1)
  self:replace_from(row, column, "")
end

--- Add a question and the place it was asked from.
---@param question string
---@param place winnow.Place
function View:heading(question, place)
  self:paragraph(("## %s\n\n"):format(vim.trim((question:gsub("%s+", " ")))))
  local at = place.params
  if at.textDocument then
    local location = { uri = at.textDocument.uri, range = at.range or { start = at.position, ["end"] = at.position } }
    self:append(("`%s`\n\n"):format(require("winnow.citations").label(location, place.client)))
  end
end

--- Add a note that is not part of the answer.
---@param text string
function View:note(text)
  self:paragraph("> " .. text:gsub("\n", "\n> "))
end

--- Show a note behind text that begins at a position.
---@param start [integer, integer] row and column
---@param text string up to the note
---@param note string
function View:note_behind(start, text, note)
  local lines = vim.split(text, "\n", { plain = true })
  local column = #lines[#lines] + (#lines == 1 and start[2] or 0)
  local virtual = { virt_text = { { note, "Comment" } }, virt_text_pos = "inline", right_gravity = false }
  api.nvim_buf_set_extmark(self.bufnr, NOTES, start[1] + #lines - 1, column, virtual)
end

--- Add text that is folded under its title, in the windows that show the view.
---@param title string one line
---@param text string
function View:folded(title, text)
  self:paragraph(title)
  local first = self:last() + 1
  self:append("\n" .. text)
  local last = self:last() + 1
  for _, win in ipairs(vim.fn.win_findbuf(self.bufnr)) do
    api.nvim_win_call(win, function()
      vim.wo[0][0].foldmethod = "manual"
      vim.cmd(("%d,%dfold"):format(first, last))
    end)
  end
end

--- Add a line for each location, which jumps there.
---@param entries { text: string, location: lsp.Location }[]
function View:list(entries)
  for _, entry in ipairs(entries) do
    self:append("\n" .. entry.text)
    local mark = api.nvim_buf_set_extmark(self.bufnr, LISTED, self:last(), 0, {})
    self._listed[mark] = entry.location
    table.insert(self.locations, entry.location)
  end
end

--- The location of a listed line.
---@param row integer 0-based
---@return lsp.Location?
function View:listed(row)
  local mark = api.nvim_buf_get_extmarks(self.bufnr, LISTED, { row, 0 }, { row, -1 }, {})[1]
  return mark and self._listed[mark[1]]
end

--- Show the current stage after the last line; nil clears it.
---@param message? string
function View:stage(message)
  self._stage = message
  api.nvim_buf_clear_namespace(self.bufnr, STAGE, 0, -1)
  if message then
    local row = self:last()
    api.nvim_buf_set_extmark(
      self.bufnr,
      STAGE,
      row,
      0,
      { virt_text = { { "⋯ " .. message, "Comment" } }, virt_text_pos = "eol" }
    )
  end
end

--- The position for the next text.
---@return integer row 0-based
---@return integer column bytes
function View:last()
  local row = api.nvim_buf_line_count(self.bufnr) - 1
  return row, #api.nvim_buf_get_lines(self.bufnr, row, row + 1, true)[1]
end

--- End the request: `complete` gets the result, or the view shows the error. A request can outlive the buffer; then
--- nothing is left to do.
---@param outcome winnow.Outcome
---@param complete fun(result: table)
function View:settle(outcome, complete)
  if views[self.bufnr] ~= self then
    return
  end
  self.request = nil
  self:stage(nil)
  if outcome.result then
    complete(outcome.result)
  else
    self:note(outcome.error or "Cancelled.")
  end
end

--- Cancel the view's request, if there is one.
function View:cancel()
  if self.request then
    self.request:cancel()
  end
end

---@private
---@param write fun()
function View:_write(write)
  local last = api.nvim_buf_line_count(self.bufnr)
  local followers = vim.tbl_filter(function(win)
    return api.nvim_win_get_cursor(win)[1] == last
  end, vim.fn.win_findbuf(self.bufnr))
  vim.bo[self.bufnr].modifiable = true
  write()
  vim.bo[self.bufnr].modifiable, vim.bo[self.bufnr].modified = false, false
  local row, column = self:last()
  for _, win in ipairs(followers) do
    api.nvim_win_set_cursor(win, { row + 1, column })
  end
  self:stage(self._stage)
end

---@private
function View:_set_keys()
  local function map(keys, run, desc)
    vim.keymap.set("n", keys, run, { buffer = self.bufnr, desc = desc })
  end
  map("<C-c>", function()
    self:cancel()
  end, "Cancel the question")
  for _, keys in ipairs({ "<CR>", "gf" }) do
    map(keys, function()
      require("winnow.citations").jump(self)
    end, "Go to the cited lines")
  end
  api.nvim_create_autocmd("BufUnload", {
    buffer = self.bufnr,
    callback = function()
      views[self.bufnr] = nil
      self:cancel()
    end,
  })
end

return View
