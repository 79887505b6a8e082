--- Lists the code that would be kept for a question, best first, with scores. Each line jumps to its code.
local citations = require("winnow.citations")
local requests = require("winnow.requests")
local View = require("winnow.view")

local M = {}

--- Show the spans of a question in their own view.
---@param question string
---@param place winnow.Place
function M.show(question, place)
  local view = View.new("spans", place.client)
  view:show(place.mods)
  view:heading(question, place)
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  view:stage("asking")
  local params = vim.tbl_extend("error", place.params, { question = question })
  view.request = requests.send(place.client, "winnow/spans", params, place.bufnr, {
    on_stage = function(message)
      view:stage(message)
    end,
    on_end = function(outcome)
      view:settle(outcome, function(result)
        M._list(view, result)
      end)
    end,
  })
end

---@private
---@param view winnow.View
---@param result { spans: table[], stats: table, notices: string[] }
function M._list(view, result)
  local stats = result.stats
  view:append(("%d of %d tokens of the workspace kept.\n"):format(stats.keptTokens, stats.workspaceTokens))
  table.sort(result.spans, function(a, b)
    return a.score > b.score
  end)
  view:list(vim.tbl_map(function(span)
    return { text = M._line(span, view.client), location = span.location }
  end, result.spans))
  vim.iter(result.notices):each(function(notice)
    view:note(notice)
  end)
end

---@private
---@param span table `SpanInfo`
---@param client vim.lsp.Client
---@return string
function M._line(span, client)
  local line = citations.span_line(span, client)
  return ("%s, %d tokens, score %.2f%s"):format(line, span.tokens, span.score, M._why(span.features))
end

--- The features' contributions to the score, the largest first; features that contribute nothing are left out.
---@private
---@param features table<string, number>
---@return string
function M._why(features)
  local names = vim.tbl_filter(function(name)
    return math.abs(features[name]) >= 0.005
  end, vim.tbl_keys(features))
  table.sort(names, function(a, b)
    return features[a] > features[b] or (features[a] == features[b] and a < b)
  end)
  local parts = vim.tbl_map(function(name)
    return ("%s %+.2f"):format(name, features[name])
  end, names)
  return #parts == 0 and "" or (" (%s)"):format(table.concat(parts, ", "))
end

return M
