--- A proposed change: a tab page with the file and the proposed text as a diff.
local api = vim.api

---@class winnow.Proposal
---@field wanted table `EditParams`
---@field result table `EditResult`
---@field client vim.lsp.Client
---@field edits lsp.TextEdit[]
---@field file integer the buffer of the file
---@field before string[] its lines
---@field bufnr integer the buffer with the proposed text
---@field tab integer
local Proposal = {}
Proposal.__index = Proposal

local M = {}

--- The edits of a `WorkspaceEdit` of one file.
---@param edit lsp.WorkspaceEdit
---@return lsp.TextEdit[]
local function edits_of(edit)
  local changes = edit.documentChanges
  return changes and changes[1].edits or select(2, next(edit.changes))
end

--- Show a proposal beside the file's text.
---@param result table `EditResult`
---@param wanted table `EditParams`
---@param client vim.lsp.Client
function M.show(result, wanted, client)
  local proposal = setmetatable({ wanted = wanted, result = result, client = client }, Proposal)
  proposal.edits = edits_of(result.edit)
  proposal.file = vim.uri_to_bufnr(wanted.textDocument.uri)
  vim.fn.bufload(proposal.file)
  proposal.before = api.nvim_buf_get_lines(proposal.file, 0, -1, true)
  proposal.bufnr = api.nvim_create_buf(false, true)
  proposal:_fill()
  proposal:_open()
  proposal:_set_keys()
end

---@private
function Proposal:_fill()
  api.nvim_buf_set_lines(self.bufnr, 0, -1, true, self.before)
  vim.lsp.util.apply_text_edits(vim.deepcopy(self.edits), self.bufnr, self.client.offset_encoding)
  vim.bo[self.bufnr].filetype = vim.bo[self.file].filetype
  vim.bo[self.bufnr].modifiable = false
  vim.bo[self.bufnr].bufhidden = "wipe"
end

---@private
function Proposal:_open()
  vim.cmd("tab split") -- unlike `sbuffer` whatever 'switchbuf' is
  api.nvim_win_set_buf(0, self.file)
  self.tab = api.nvim_get_current_tabpage()
  vim.cmd.diffthis()
  vim.cmd("rightbelow vsplit")
  api.nvim_win_set_buf(0, self.bufnr)
  vim.cmd.diffthis()
  local keys = self.result.rejected and "Rejected: " .. self.result.rejected .. "  [r]again [q]close"
    or "[a]ccept [r]again [q]discard"
  vim.wo[0][0].winbar = (self.result.title .. "  " .. keys):gsub("%%", "%%%%")
  api.nvim_win_set_cursor(0, { math.min(self.edits[1].range.start.line + 1, api.nvim_buf_line_count(0)), 0 })
end

---@private
function Proposal:_set_keys()
  local function map(key, run, desc)
    vim.keymap.set("n", key, run, { buffer = self.bufnr, nowait = true, desc = desc })
  end
  map("a", function()
    self:accept()
  end, "Make this change")
  map("q", function()
    self:close()
  end, "Discard this change")
  map("r", function()
    self:again()
  end, "Have another change proposed")
end

--- Make the change, unless the text is another one by now.
function Proposal:accept()
  if self.result.rejected then
    return vim.notify("winnow: not changed: " .. self.result.rejected, vim.log.levels.WARN)
  end
  if not vim.deep_equal(self.before, api.nvim_buf_get_lines(self.file, 0, -1, true)) then
    return vim.notify("winnow: the text has changed since; nothing was changed: r asks again", vim.log.levels.WARN)
  end
  vim.lsp.util.apply_text_edits(self.edits, self.file, self.client.offset_encoding)
  self:close()
end

--- Have another change proposed, which takes the place of this one.
function Proposal:again()
  local wanted = vim.tbl_extend("force", self.wanted, { attempt = (self.wanted.attempt or 0) + 1 })
  wanted.digest = nil
  require("winnow.edit").run(wanted, self.client, function()
    self:close()
  end)
end

--- Close the tab page, or only the proposed text if there is no other page.
function Proposal:close()
  if #api.nvim_list_tabpages() > 1 and api.nvim_tabpage_is_valid(self.tab) then
    vim.cmd.tabclose(api.nvim_tabpage_get_number(self.tab))
  elseif api.nvim_buf_is_valid(self.bufnr) then
    vim.cmd("diffoff!")
    api.nvim_buf_delete(self.bufnr, { force = true })
  end
end

return M
