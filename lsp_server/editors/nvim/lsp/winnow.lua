--- Winnow answers questions about the whole project, so it attaches to files of every type: those of a project, that
--- is a directory with one of the root markers, because a lone file (or a home directory) is no workspace.
---
--- Enable it with `vim.lsp.enable("winnow")`; change it with `vim.lsp.config("winnow", { … })`.
---@type vim.lsp.Config
return {
  cmd = { "winnow", "serve" },
  root_markers = { ".git", ".hg", ".jj", ".winnowignore", "pyproject.toml", "package.json", "Cargo.toml", "go.mod" },
  workspace_required = true,
  settings = { winnow = vim.empty_dict() },
  -- Sent with the first message, so that a question that comes at once is not put to the default models.
  before_init = function(params, config)
    params.initializationOptions = config.settings
  end,
  handlers = {
    ["$/progress"] = function(...)
      return require("winnow.requests").on_progress(...)
    end,
    -- The page of a review, which Neovim would open in place of the code.
    ["window/showDocument"] = function(...)
      vim.cmd("botright split")
      return vim.lsp.handlers["window/showDocument"](...)
    end,
    ["winnow/kept"] = function(...)
      return require("winnow.requests").on_kept(...)
    end,
    ["winnow/status"] = function(...)
      return require("winnow.status").on_status(...)
    end,
  },
  -- What code actions and lenses run: the same as :WinnowExplain, streamed, instead of a file that the server writes.
  commands = {
    ["winnow.explain"] = function(...)
      return require("winnow.explain").on_command(...)
    end,
    ["winnow.edit"] = function(...)
      return require("winnow.edit").on_command(...)
    end,
  },
  on_exit = function(...)
    require("winnow.requests").on_exit(...)
    require("winnow.status").on_exit(...)
  end,
}
