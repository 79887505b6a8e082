--- Conversations: questions that build on each other, in one answer buffer.
local citations = require("winnow.citations")
local requests = require("winnow.requests")
local View = require("winnow.view")

local M = {}

local MOST_KEPT = 8

--- An id that is unique among the clients of the server.
---@return string
local function new_id()
  return ("nvim-%d-%d"):format(vim.uv.os_getpid(), vim.uv.hrtime())
end

--- An idle view in this tab page whose conversation can go on.
---@param place winnow.Place
---@return winnow.View?
local function idle(place)
  return vim.iter(View.visible()):find(function(view)
    return view.conversation and not view.request and view:answers_to(place.client)
  end)
end

--- Ask in the conversation of this window, else in an idle one of this tab page, else in a new one.
---@param question string
---@param place winnow.Place
function M.continue(question, place)
  local here = View.of(place.bufnr)
  if here and here.request then
    local message = "winnow: this answer is still being written; <C-c> cancels it, :WinnowNew starts another conversation"
    return vim.notify(message, vim.log.levels.WARN)
  end
  local view = here and here.conversation and here or idle(place)
  if view then
    M._ask(view, { question = question }, place)
  else
    M.start({ question = question }, place)
  end
end

---@class winnow.Asked the protocol's `AskParams` without the place: a question, or a topic to explain
---@field question? string
---@field about? string
---@field diagnostics? { message: string }[]

--- Ask in a new conversation.
---@param asked winnow.Asked
---@param place winnow.Place
function M.start(asked, place)
  local view = View.new("answer", place.client)
  view.conversation = new_id()
  M._ask(view, asked, place)
end

---@private
---@param view winnow.View
---@param asked winnow.Asked
---@param place winnow.Place
function M._ask(view, asked, place)
  view.client = place.client
  view:show(place.mods)
  local question = asked.question or require("winnow.explain").title(asked)
  view:heading(question, place)
  local turn = { view = view, question = question, start = { view:last() }, pieces = {} }
  view:stage("asking")
  local params = vim.tbl_extend("error", place.params, asked, { conversation = view.conversation })
  -- For a server that was restarted.
  params.earlier = #view.turns > 0 and view.turns or nil
  view.request = requests.send(place.client, "winnow/ask", params, place.bufnr, M._listener(turn))
end

---@class winnow.Turn
---@field view winnow.View
---@field question string as the heading has it
---@field start [integer, integer] row and column where the answer starts
---@field pieces string[] the deltas so far
---@field waits? boolean the kept code is listed and may be listed anew

---@private
---@param turn winnow.Turn
---@return winnow.Listener
function M._listener(turn)
  return {
    on_kept = function(spans, provisional)
      M._show_kept(turn, spans, provisional)
    end,
    on_delta = function(text)
      M._keep(turn)
      table.insert(turn.pieces, text)
      turn.view:append(text)
    end,
    on_stage = function(message)
      turn.view:stage(message)
    end,
    on_end = function(outcome)
      if outcome.cancelled and #turn.pieces > 0 then -- a follow-up knows what was shown
        table.insert(turn.view.turns, { question = turn.question, answer = table.concat(turn.pieces) })
      end
      turn.view:settle(outcome, function(result)
        M._complete(turn, result)
      end)
    end,
  }
end

--- List the code that the answer will rest on, above it.
---@private
---@param turn winnow.Turn
---@param spans table[] `SpanInfo`, best first
---@param provisional? boolean chosen by names and words alone
function M._show_kept(turn, spans, provisional)
  local view = turn.view
  if turn.waits then -- more is known now
    view:cut(turn.start[1], turn.start[2])
  end
  turn.waits = true
  view:paragraph(provisional and "Found so far:\n" or "Kept:\n")
  view:list(vim.tbl_map(function(span)
    return { text = citations.span_line(span, view.client), location = span.location }
  end, vim.list_slice(spans, 1, MOST_KEPT)))
  if #spans > MOST_KEPT then
    view:append(("\n- and %d more"):format(#spans - MOST_KEPT))
  end
  view:append("\n\n")
end

--- Have the answer start below the kept code.
---@private
---@param turn winnow.Turn
function M._keep(turn)
  if turn.waits then
    turn.waits = false
    turn.start = { turn.view:last() }
  end
end

--- Add the parts of the result that are not streamed.
---@private
---@param turn winnow.Turn
---@param result table `AskResult`
function M._complete(turn, result)
  local view = turn.view
  M._keep(turn)
  table.insert(view.turns, { question = result.question, answer = result.answer })
  if table.concat(turn.pieces) ~= result.answer then
    view:replace_from(turn.start[1], turn.start[2], result.answer)
  end
  if result.finish == "length" then
    view:note("The answer was cut off; the setting winnow.maxTokens allows a longer one.")
  end
  for _, notice in ipairs(result.notices) do
    view:note(notice)
  end
  local thought = result.thinking
  if thought then
    view:folded(("Thought for %.0f s (%d tokens)"):format(thought.seconds, thought.tokens), thought.text)
  end
  local before, sources = result.citedBefore or {}, M._sources(turn, result)
  if #sources + #before > 0 then
    view:paragraph("Sources:\n")
  end
  view:list(sources)
  for _, cited in ipairs(before) do -- no longer in any file
    view:append(("\n- `%s:%s`"):format(cited.commit:sub(1, 10), citations.label(cited.location, view.client)))
  end
end

--- Put numbers of places behind the sentences of the answer, as text that is not part of it.
---@private
---@param turn winnow.Turn
---@param result table `AskResult`
---@return { text: string, location: lsp.Location }[] the places in order, then other citations
function M._sources(turn, result)
  local numbers, sources, view = {}, {}, turn.view
  local function number(location, mark)
    local key = vim.json.encode({ location.uri, { citations.lines(location.range) } })
    if not numbers[key] then
      table.insert(sources, { text = mark:format(#sources + 1, citations.label(location, view.client)), location = location })
      numbers[key] = #sources
    end
    return ("[%d]"):format(numbers[key])
  end
  for _, sentence in ipairs(result.sentences or {}) do
    local notes = vim.tbl_map(function(location)
      return number(location, "- [%d] `%s`")
    end, sentence.places)
    if sentence.support and #sentence.places == 0 then
      table.insert(notes, "[not found in the code shown]")
    end
    for _, name in ipairs(sentence.unknown) do
      local text = vim.fn.strcharpart(result.answer, name.start, name["end"] - name.start)
      table.insert(notes, ("[%s is no name in this workspace]"):format(text))
    end
    view:note_behind(turn.start, vim.fn.strcharpart(result.answer, 0, sentence["end"]), table.concat(notes))
  end
  for _, location in ipairs(result.citations) do
    number(location, "- %.0s`%s`")
  end
  return sources
end

return M
