/** Colours of VS Code's own themes, as far as the page uses them. */
export type ThemeName = 'dark' | 'light' | 'high-contrast';

export interface Theme {
  /** Classes that VS Code puts on the page's body. */
  classes: string;
  background: string;
  variables: Record<string, string>;
}

const FONTS = {
  'font-family': 'DejaVu Sans, sans-serif', 'font-size': '13px',
  'editor-font-family': 'DejaVu Sans Mono, monospace', 'editor-font-size': '12px',
};

export const THEMES: Record<ThemeName, Theme> = {
  'dark': {
    classes: 'vscode-dark',
    background: '#181818',
    variables: {
      ...FONTS,
      'foreground': '#cccccc', 'sideBar-foreground': '#cccccc', 'descriptionForeground': '#9d9d9d', 'icon-foreground': '#cccccc',
      'focusBorder': '#0078d4', 'widget-border': '#313131', 'toolbar-hoverBackground': '#5a5d5e50',
      'button-secondaryBackground': '#313131', 'button-secondaryForeground': '#cccccc', 'button-secondaryHoverBackground': '#3c3c3c',
      'textLink-foreground': '#4daafc', 'textLink-activeForeground': '#4daafc', 'sideBarSectionHeader-border': '#2b2b2b',
      'chat-requestBorder': '#ffffff1a', 'chat-requestBubbleBackground': '#264f784d', 'list-hoverBackground': '#2a2d2e',
      'input-background': '#313131', 'input-foreground': '#cccccc', 'input-border': '#3c3c3c', 'input-placeholderForeground': '#989898',
      'editor-background': '#1f1f1f', 'editorWidget-background': '#202020', 'editorWidget-foreground': '#cccccc', 'editorWidget-border': '#454545',
      'progressBar-background': '#0078d4', 'charts-blue': '#3794ff', 'textSeparator-foreground': '#21262d',
      'notificationsInfoIcon-foreground': '#3794ff', 'notificationsWarningIcon-foreground': '#cca700', 'notificationsErrorIcon-foreground': '#f14c4c',
      'textBlockQuote-background': '#2b2b2b', 'textBlockQuote-border': '#616161', 'textCodeBlock-background': '#2b2b2b',
      'textPreformat-background': '#3c3c3c', 'textPreformat-foreground': '#d0d0d0',
      'debugTokenExpression-boolean': '#4e94ce', 'debugTokenExpression-string': '#ce9178', 'debugTokenExpression-number': '#b5cea8', 'debugTokenExpression-error': '#f48771',
      'symbolIcon-functionForeground': '#b180d7', 'symbolIcon-classForeground': '#ee9d28', 'symbolIcon-variableForeground': '#75beff',
    },
  },
  'light': {
    classes: 'vscode-light',
    background: '#f8f8f8',
    variables: {
      ...FONTS,
      'foreground': '#3b3b3b', 'sideBar-foreground': '#3b3b3b', 'descriptionForeground': '#3b3b3b', 'icon-foreground': '#3b3b3b',
      'focusBorder': '#005fb8', 'widget-border': '#e5e5e5', 'toolbar-hoverBackground': '#b8b8b850',
      'button-secondaryBackground': '#e5e5e5', 'button-secondaryForeground': '#3b3b3b', 'button-secondaryHoverBackground': '#cccccc',
      'textLink-foreground': '#005fb8', 'textLink-activeForeground': '#005fb8', 'sideBarSectionHeader-border': '#e5e5e5',
      'chat-requestBorder': '#0000001a', 'chat-requestBubbleBackground': '#add6ff4d', 'list-hoverBackground': '#f2f2f2',
      'input-background': '#ffffff', 'input-foreground': '#3b3b3b', 'input-border': '#cecece', 'input-placeholderForeground': '#767676',
      'editor-background': '#ffffff', 'editorWidget-background': '#f8f8f8', 'editorWidget-foreground': '#3b3b3b', 'editorWidget-border': '#c8c8c8',
      'progressBar-background': '#005fb8', 'charts-blue': '#0063d3', 'textSeparator-foreground': '#21262d',
      'notificationsInfoIcon-foreground': '#0063d3', 'notificationsWarningIcon-foreground': '#bf8803', 'notificationsErrorIcon-foreground': '#e51400',
      'textBlockQuote-background': '#f8f8f8', 'textBlockQuote-border': '#e5e5e5', 'textCodeBlock-background': '#f8f8f8',
      'textPreformat-background': '#0000001f', 'textPreformat-foreground': '#3b3b3b',
      'debugTokenExpression-boolean': '#0000ff', 'debugTokenExpression-string': '#a31515', 'debugTokenExpression-number': '#098658', 'debugTokenExpression-error': '#e51400',
      'symbolIcon-functionForeground': '#652d90', 'symbolIcon-classForeground': '#d67e00', 'symbolIcon-variableForeground': '#007acc',
    },
  },
  'high-contrast': {
    classes: 'vscode-high-contrast',
    background: '#000000',
    variables: {
      ...FONTS,
      'foreground': '#ffffff', 'sideBar-foreground': '#ffffff', 'descriptionForeground': '#ffffffb3', 'icon-foreground': '#ffffff',
      'focusBorder': '#f38518', 'contrastBorder': '#6fc3df', 'contrastActiveBorder': '#f38518', 'widget-border': '#6fc3df', 'toolbar-hoverOutline': '#f38518',
      'button-secondaryForeground': '#ffffff',
      'textLink-foreground': '#21a6ff', 'textLink-activeForeground': '#21a6ff', 'sideBarSectionHeader-border': '#6fc3df',
      'chat-requestBorder': '#6fc3df',
      'input-background': '#000000', 'input-foreground': '#ffffff', 'input-border': '#6fc3df', 'input-placeholderForeground': '#ffffffb3',
      'editor-background': '#000000', 'editorWidget-background': '#0c141f', 'editorWidget-foreground': '#ffffff', 'editorWidget-border': '#6fc3df',
      'progressBar-background': '#0078d4', 'charts-blue': '#59a4f9', 'textSeparator-foreground': '#000000',
      'notificationsInfoIcon-foreground': '#3794ff', 'notificationsWarningIcon-foreground': '#ffd370', 'notificationsErrorIcon-foreground': '#f48771',
      'textBlockQuote-border': '#ffffff', 'textCodeBlock-background': '#000000',
      'textPreformat-background': '#ffffff', 'textPreformat-foreground': '#000000',
      'debugTokenExpression-boolean': '#75bdfe', 'debugTokenExpression-string': '#f48771', 'debugTokenExpression-number': '#89d185', 'debugTokenExpression-error': '#f48771',
      'symbolIcon-functionForeground': '#b180d7', 'symbolIcon-classForeground': '#ee9d28', 'symbolIcon-variableForeground': '#75beff',
    },
  },
};
