--- Questions about changes, and reviews.
local M = {}

local WORDS = { "@changes", "@staged", "@branch", "@commit", "@when" }
local REVIEWED = { "@working", "@staged", "@branch", "@commit" }
local SEVERITY = { high = "E", medium = "W", low = "I" }

--- The words that a question about changes begins with.
---@param lead string the text typed so far
---@param bare? boolean without the @
---@return string[]
function M.complete(lead, bare)
  local found = vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, bare and REVIEWED or WORDS)
  return vim.tbl_map(function(word)
    return bare and word:sub(2) or word
  end, found)
end

--- Review a change and show its findings in the quickfix list.
---@param changes string
---@param place winnow.Place
function M.review(changes, place)
  local params = { command = "winnow.review", arguments = { { changes = changes } } }
  vim.notify("winnow: reviewing " .. changes)
  require("winnow.requests").send(place.client, "workspace/executeCommand", params, place.bufnr, {
    on_stage = function() end, -- Neovim's own handler of $/progress has it
    on_end = function(outcome)
      if outcome.result then
        M._list(outcome.result)
      elseif outcome.error then
        vim.notify("winnow: " .. outcome.error, vim.log.levels.ERROR)
      else
        vim.notify("winnow: the review was cancelled")
      end
    end,
  })
end

---@private
---@param review { title: string, findings: { location: lsp.Location, reason: string, confidence: string }[] }
function M._list(review)
  local items = vim.tbl_map(function(finding)
    local range = finding.location.range
    return {
      filename = vim.uri_to_fname(finding.location.uri),
      lnum = range.start.line + 1,
      end_lnum = range["end"].line,
      text = ("%s: %s"):format(finding.confidence, finding.reason),
      type = SEVERITY[finding.confidence],
    }
  end, review.findings)
  vim.fn.setqflist({}, " ", { title = "Winnow: " .. review.title, items = items })
  if #items == 0 then
    vim.notify("winnow: no findings")
  else
    vim.cmd.copen()
  end
end

return M
