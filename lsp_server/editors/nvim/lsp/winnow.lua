--- The Winnow language server. It attaches to files of every type, because questions are about the whole project: a
--- directory with one of the root markers. A lone file, or a home directory, is not a workspace.
---
--- Enable it with `vim.lsp.enable("winnow")`; change it with `vim.lsp.config("winnow", { … })`.

--- A path with links resolved and, on Windows too, forward slashes.
---@param path string
---@return string
local function real(path)
  return vim.fs.normalize(vim.uv.fs_realpath(path) or path, { expand_env = false })
end

--- Whether a directory is all that the user has: the home, or a whole disk.
---@param directory string
---@return boolean
local function is_everything(directory)
  local found = real(directory)
  return found == real(vim.fs.normalize("~")) or found == vim.fs.dirname(found)
end

---@type vim.lsp.Config
return {
  cmd = { "winnow", "serve" },
  root_markers = { ".git", ".hg", ".jj", ".winnowignore", "pyproject.toml", "package.json", "Cargo.toml", "go.mod" },
  -- A home directory may be a repository, as with dotfiles, but is not taken for a project.
  root_dir = function(bufnr, on_dir)
    for _, marker in ipairs(vim.lsp.config.winnow.root_markers) do
      local root = vim.fs.root(bufnr, { marker })
      if root and not is_everything(root) then
        return on_dir(root)
      end
    end
  end,
  workspace_required = true,
  settings = { winnow = vim.empty_dict() },
  -- Sent with the first message, so that the first question is not answered by the default models.
  before_init = function(params, config)
    params.initializationOptions = config.settings
  end,
  handlers = {
    ["$/progress"] = function(...)
      return require("winnow.requests").on_progress(...)
    end,
    -- The page of a review, which Neovim would open in the code's window.
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
  -- Commands of code actions and lenses: streamed like :WinnowExplain, instead of a file that the server writes.
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
