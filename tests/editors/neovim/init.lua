-- The configuration that a user of the plugin would have. The environment says where the plugin is, how to start the
-- server and with which settings.
vim.opt.runtimepath:prepend(vim.env.WINNOW_PLUGIN)
vim.opt.swapfile = false
