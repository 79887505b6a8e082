;;; e2e.el --- Winnow in a real Emacs with Eglot  -*- lexical-binding: t; -*-

;; emacs --batch -q -l e2e.el; the environment variable WINNOW_E2E holds JSON:
;; {"recipe": winnow-eglot.el, "workspace": DIRECTORY, "command": [PROGRAM, ARGUMENT...], "settings": {...}}
;; Prints "ok NAME" or "FAIL NAME DETAIL" for each check, on standard output.

;;; Code:

(when (< emacs-major-version 29) (package-initialize))
(defconst e2e-input
  (json-parse-string (getenv "WINNOW_E2E") :object-type 'plist :array-type 'list :false-object :json-false))
(load (plist-get e2e-input :recipe))
(princ (format "emacs %s\n" emacs-version))

(defconst e2e-root (file-name-as-directory (plist-get e2e-input :workspace)))
(defconst e2e-command (plist-get e2e-input :command))
(defconst e2e-settings (plist-get e2e-input :settings))
(defconst e2e-patience 300 "Seconds after which a wait has failed; nothing here takes nearly as long.")

(defvar e2e-deltas nil "Deltas of the request under way, the last one first.")
(defvar e2e-kept nil "(SPANS TEXT LOCATIONS DELTAS-BEFORE) of the request under way: kept code, and how *winnow* showed it.")
(defvar e2e-stages nil "Work-done messages of the request under way, the last one first.")
(defvar e2e-targets nil "Names of the targets that `winnow/status' has named.")
(defvar e2e-outcome nil "(DELTAS-BEFORE . RESULT-OR-ERROR) of the request, once it is answered.")

(defun e2e-check (name ok &optional detail)
  (princ (format "%s %s%s\n" (if ok "ok" "FAIL") name (if ok "" (format " %S" detail)))))

(defun e2e-wait (condition)
  "Wait until CONDITION returns non-nil, and return that; nil if it takes too long."
  (let ((end (+ (float-time) e2e-patience)) value)
    (while (and (not (setq value (funcall condition))) (< (float-time) end))
      (accept-process-output nil 0.02))
    value))

;;; Watch what reaches the recipe

(cl-defmethod eglot-handle-notification :before
  ((_server winnow-server) (_method (eql '$/progress)) &key _token value)
  (if (equal (plist-get value :kind) "delta")
      (push value e2e-deltas)
    (push (plist-get value :message) e2e-stages)))

(cl-defmethod eglot-handle-notification :after
  ((_server winnow-server) (_method (eql 'winnow/kept)) &key spans &allow-other-keys)
  (with-current-buffer "*winnow*"
    (setq e2e-kept (list spans (buffer-string) (e2e-locations) (length e2e-deltas)))))

(defun e2e-locations ()
  "The locations of the current buffer's buttons."
  (let ((overlays (sort (overlays-in (point-min) (point-max))
                        (lambda (one other) (< (overlay-start one) (overlay-start other))))))
    (delq nil (mapcar (lambda (overlay) (overlay-get overlay 'winnow-location)) overlays))))

(cl-defmethod eglot-handle-notification :before
  ((_server winnow-server) (_method (eql 'winnow/status)) &key models &allow-other-keys)
  (cl-pushnew (plist-get (plist-get models :target) :name) e2e-targets :test #'equal))

(defun e2e-answered (token outcome)
  "Keep OUTCOME if it is that of the last request, not of one before that was cancelled."
  (when (equal token (format "winnow-%d" winnow--count))
    (setq e2e-outcome (cons (length e2e-deltas) outcome))))

(advice-add 'winnow--finish :after #'e2e-answered)
(advice-add 'winnow--fail :after #'e2e-answered)

(defmacro e2e-asking (&rest body)
  "Run BODY, which asks something, and return the result or the error that answers it."
  `(progn (e2e-start ,@body) (cdr (e2e-wait (lambda () e2e-outcome)))))

(defmacro e2e-start (&rest body)
  "Run BODY, which asks something; do not wait for the answer."
  `(progn (setq e2e-deltas nil e2e-kept nil e2e-stages nil e2e-outcome nil) ,@body))

(defun e2e-streamed ()
  (mapconcat (lambda (delta) (plist-get delta :text)) (reverse e2e-deltas) ""))

(defun e2e-shown-p (&rest texts)
  "Whether the buffer *winnow* shows all TEXTS."
  (with-current-buffer "*winnow*"
    (cl-every (lambda (text) (and text (string-search text (buffer-string)))) texts)))

(defun e2e-idle-p (server)
  "Whether SERVER has said that it works on no question."
  (equal 0 (plist-get (plist-get (winnow--status server) :questions) :running)))

(defun e2e-pick-action (title beg end)
  "Do what a user does who calls `eglot-code-actions' on BEG to END and picks what begins with TITLE."
  (let ((last-nonmenu-event ?.) ; a key, not the mouse
        (completing-read-function (lambda (_prompt titles &rest _) (car (all-completions title titles)))))
    (eglot-code-actions beg end nil t)))

(defun e2e-range (beg end)
  (list :start (winnow--position beg) :end (winnow--position end)))

(defun e2e-region (text)
  "Bounds of the first TEXT in the buffer."
  (goto-char (point-min))
  (search-forward text)
  (list (match-beginning 0) (match-end 0)))

;;; Checks

(defun e2e-ask ()
  (let* ((question "How does the total of an order come about?")
         (result (e2e-asking (winnow-ask question)))
         (answer (plist-get result :answer)))
    (e2e-check "settings-hold-from-the-first-question"
               (equal e2e-targets (list (plist-get e2e-settings :target))) e2e-targets)
    (e2e-check "ask-answers" (cl-plusp (length answer)) result)
    (e2e-check "deltas-come-before-the-result" (and (car e2e-outcome) (cl-plusp (car e2e-outcome))) e2e-outcome)
    (e2e-check "deltas-make-up-the-answer" (equal (e2e-streamed) answer) (e2e-streamed))
    (e2e-check "deltas-are-numbered" (equal (mapcar (lambda (d) (plist-get d :sequence)) (reverse e2e-deltas))
                                            (number-sequence 0 (1- (length e2e-deltas)))))
    (e2e-check "buffer-shows-the-answer" (e2e-shown-p question answer))
    (e2e-kept)
    (let* ((again "Which of these functions did you name first?")
           (next (e2e-asking (winnow-follow-up again))))
      (e2e-check "follow-up-continues-the-conversation"
                 (equal (plist-get next :conversation) (plist-get result :conversation)) next)
      (e2e-check "buffer-shows-both-turns" (e2e-shown-p question answer again (plist-get next :answer))))))

(defun e2e-blank ()
  (let ((before (with-current-buffer "*winnow*" (buffer-string))))
    (e2e-check "what-is-not-typed-is-not-asked"
               (and (eq 'refused (condition-case nil (winnow-ask " ") (user-error 'refused)))
                    (equal before (with-current-buffer "*winnow*" (buffer-string))))
               (with-current-buffer "*winnow*" (buffer-string)))))

(defun e2e-thought ()
  "The end of an answer by a model that thinks, which the model here does not."
  (let ((result '(:conversation "c" :question "q" :answer "So." :citations [] :notices []
                  :sentences [(:start 0 :end 3 :places [] :support 0.1 :unknown [(:start 0 :end 2)])]
                  :citedBefore [(:location (:uri "file:///w/shop/sch%C3%B6n.py" :range (:start (:line 2) :end (:line 4)))
                                 :commit "1a2b3c4d5e6f")]
                  :thinking (:text "Hm, one or two?" :seconds 12.4 :tokens 340))))
    (with-current-buffer "*winnow*"
      (setq winnow--token "thinking")
      (let ((inhibit-read-only t)) (goto-char (point-max)) (insert "So.")))
    (winnow--finish "thinking" result)
    (e2e-check "sentences-that-the-code-does-not-hold-are-marked"
               (with-current-buffer "*winnow*"
                 (seq-some (lambda (one) (string-search "[not found in the code shown][So is no name" (or (overlay-get one 'after-string) "")))
                           (overlays-in (point-min) (point-max)))))
    (e2e-check "a-thought-is-not-shown-at-once"
               (and (e2e-shown-p "Thought for 12 s (340 tokens)") (not (e2e-shown-p "Hm, one or two?"))))
    (e2e-check "cited-lines-of-a-commit-are-named"
               (string-match-p "\n- 1a2b3c4d5e:.*schön\\.py:3" (with-current-buffer "*winnow*" (buffer-string)))
               (with-current-buffer "*winnow*" (buffer-string)))
    (with-current-buffer "*winnow*"
      (goto-char (point-max))
      (search-backward "Thought for")
      (push-button))
    (e2e-check "its-button-shows-it"
               (string-search "Hm, one or two?" (with-current-buffer "*winnow thought*" (buffer-string))))))

(defun e2e-kept ()
  (pcase-let ((`(,spans ,text ,locations ,deltas) e2e-kept))
    (e2e-check "kept-code-comes-before-the-answer" (and (cl-plusp (length spans)) (equal deltas 0)) e2e-kept)
    (e2e-check "kept-code-is-shown-best-first"
               (and (string-search "Kept:" text)
                    (equal locations (seq-take (mapcar (lambda (span) (plist-get span :location)) spans)
                                               winnow--most-kept)))
               e2e-kept)
    (e2e-check "kept-code-stays-above-the-answer"
               (with-current-buffer "*winnow*"
                 (and (e2e-shown-p "Kept:")
                      (= (length (e2e-locations))
                         (+ (length locations) (length (plist-get (cdr e2e-outcome) :citations))))))
               e2e-kept)))

(defun e2e-citation ()
  (e2e-check "explains-a-region"
             (plist-get (e2e-asking (apply #'winnow-explain-region (e2e-region "def total"))) :answer) e2e-outcome)
  (let ((result (e2e-asking (winnow-ask "What does the function `total` do?"))))
    (with-current-buffer "*winnow*"
      (goto-char (point-min))
      (let ((button (ignore-errors (forward-button 1) (button-at (point)))))
        (e2e-check "answer-has-citations" button (plist-get result :answer))
        (save-window-excursion
          (when button (push-button))
          (let ((cited (and button (button-get button 'winnow-location))))
            (e2e-check "citation-is-visited"
                       (and cited
                            (equal (file-truename buffer-file-name) (winnow--path (plist-get cited :uri)))
                            (= (1- (line-number-at-pos)) (plist-get (plist-get (plist-get cited :range) :start) :line)))
                       cited)))))))

(defun e2e-actions ()
  (pcase-let ((`(,beg ,end) (e2e-region "def pay")))
    (e2e-check "code-action-explains"
               (plist-get (e2e-asking (e2e-pick-action "Explain" beg end)) :answer) e2e-outcome)
    (e2e-check "buffer-shows-the-answer-of-the-action" (e2e-shown-p (plist-get (cdr e2e-outcome) :answer)))))

(defun e2e-publish (server message beg end)
  "Let SERVER's client see a diagnostic with MESSAGE from BEG to END, as a server would publish it."
  (flymake-start)
  (eglot-handle-notification server 'textDocument/publishDiagnostics
                             :uri (winnow--uri buffer-file-name)
                             :diagnostics (vector (list :range (e2e-range beg end) :severity 1 :message message))))

(defun e2e-diagnostic (server)
  (pcase-let ((`(,beg ,end) (e2e-region "cost > wallet_cents"))
              (requests nil))
    (e2e-publish server "unsupported operand types" beg end)
    (cl-letf* ((send (symbol-function 'jsonrpc-async-request))
               ((symbol-function 'jsonrpc-async-request)
                (lambda (&rest arguments) (push arguments requests) (apply send arguments))))
      (e2e-check "diagnostic-is-explained"
                 (plist-get (e2e-asking (e2e-pick-action "Explain this problem" beg end)) :answer) e2e-outcome))
    (e2e-check "diagnostic-reaches-the-server"
               (string-search "unsupported operand types" (format "%S" (mapcar #'caddr requests))) requests)))

(defun e2e-cancel (server)
  (e2e-start (winnow-ask "What does getopt do with an option that it does not know?"))
  (e2e-wait (lambda () (string-prefix-p "reading" (or (car e2e-stages) ""))))
  (winnow-cancel)
  (e2e-wait (lambda () e2e-outcome))
  (e2e-check "cancel-while-reading" (and (equal -32800 (plist-get (cdr e2e-outcome) :code)) (null e2e-deltas))
             e2e-outcome)
  (e2e-check "kept-code-stays-after-cancel" (string-search "Kept:\n" (with-current-buffer "*winnow*" (buffer-string))))
  (e2e-check "no-question-runs-after-cancel-while-reading" (e2e-wait (lambda () (e2e-idle-p server))))
  (e2e-start (winnow-ask "Tell me everything about the option parser, at length."))
  (e2e-wait (lambda () e2e-deltas))
  (winnow-cancel)
  (e2e-wait (lambda () e2e-outcome))
  (e2e-check "cancel-while-answering" (equal -32800 (plist-get (cdr e2e-outcome) :code)) e2e-outcome)
  (let ((turns (buffer-local-value 'winnow--turns (get-buffer "*winnow*"))))
    (e2e-check "a-follow-up-knows-the-cancelled-answer"
               (and (= 1 (length turns)) (e2e-shown-p (plist-get (car turns) :answer))
                    (buffer-local-value 'winnow--conversation (get-buffer "*winnow*")))
               turns))
  (e2e-check "no-question-runs-after-cancel-while-answering" (e2e-wait (lambda () (e2e-idle-p server)))))

(defun e2e-unsaved (name server)
  "Check NAME: SERVER sees a function that is in the buffer, but not in its file."
  (goto-char (point-max))
  (insert "\n\ndef gift_wrap(order):\n    \"\"\"Wrap a 🎁 order as a gift.\"\"\"\n    return [f\"wrapped {name}\" for name in order]\n")
  (winnow--sync server)
  (let ((spans (jsonrpc-request server :winnow/spans '(:question "Where is an order wrapped as a gift?") :timeout nil)))
    (e2e-check name (cl-find "gift_wrap" (plist-get spans :spans)
                             :key (lambda (span) (plist-get span :name)) :test #'equal)
               spans))
  (set-buffer-modified-p nil)
  (revert-buffer t t t))

(defun e2e-git (&rest arguments)
  "Run git with ARGUMENTS in the workspace."
  (let ((default-directory e2e-root))
    (apply #'call-process "git" nil nil nil "-c" "user.name=Ada" "-c" "user.email=ada@example.org" arguments)))

(defun e2e-changes ()
  "Ask about an edit that is not committed, and have it reviewed."
  (e2e-git "add" "--all")
  (e2e-git "commit" "--quiet" "-m" "Open the shop")
  (e2e-check "nothing-changed-is-told"
             (string-search "nothing changed" (or (plist-get (e2e-asking (winnow-ask-changes "working" "")) :message) ""))
             e2e-outcome)
  (let ((result (e2e-asking (winnow-ask "@when was the shop opened?"))))
    (e2e-check "a-question-is-answered-from-commits"
               (equal "was the shop opened?" (plist-get result :question))
               e2e-outcome))
  (goto-char (point-max))
  (insert "\n\ndef refund(order):\n    return pay(order, 0)\n")
  (let ((result (e2e-asking (winnow-ask-changes "working" "What could this break?"))))
    (e2e-check "a-question-is-about-an-unsaved-change"
               (seq-some (lambda (span) (equal "refund" (plist-get span :name))) (plist-get result :spans))
               e2e-outcome))
  (let ((result (e2e-asking (winnow-review "working"))))
    (e2e-check "a-review-lists-the-files" (and (plist-get result :files) (e2e-shown-p "# Review" "shop/checkout.py"))
               e2e-outcome))
  (set-buffer-modified-p nil)
  (revert-buffer t t t))

(defun e2e-restarted ()
  "Follow up on the answer in *winnow*, whose server has gone."
  (let ((turns (buffer-local-value 'winnow--turns (get-buffer "*winnow*")))
        brought)
    (cl-letf* ((send (symbol-function 'jsonrpc-async-request))
               ((symbol-function 'jsonrpc-async-request)
                (lambda (&rest arguments)
                  (when (eq (cadr arguments) :winnow/ask) (setq brought (plist-get (caddr arguments) :earlier)))
                  (apply send arguments))))
      (e2e-check "a-new-server-goes-on-with-the-conversation"
                 (plist-get (e2e-asking (winnow-follow-up "And how would you mend it?")) :answer) e2e-outcome))
    (e2e-check "it-is-brought-the-turns-before"
               (and (= 1 (length turns)) (equal brought (vconcat turns))
                    (e2e-shown-p (plist-get (car turns) :answer)))
               (list brought turns))))

(defun e2e-mode-line (server)
  (e2e-check "mode-line-shows-the-status"
             (string-search (plist-get (winnow--status server) :message) (or (winnow--mode-line) ""))
             (winnow--mode-line)))

(defun e2e-connect (&rest contact)
  "Call `eglot' with CONTACT as what `eglot-server-programs' says for `python-mode'; return the connection."
  (let ((eglot-server-programs `((python-mode . ,contact)))
        (eglot-sync-connect t))
    (call-interactively #'eglot)
    (eglot-current-server)))

;;; Winnow is Eglot's server for the buffer

(setq-default eglot-workspace-configuration `(:winnow ,e2e-settings))
(with-current-buffer (find-file-noselect (concat e2e-root "shop/checkout.py"))
  (let ((server (apply #'e2e-connect 'winnow-server e2e-command)))
    (e2e-check "connects" (and (jsonrpc-running-p server) (eglot-managed-p)) server)
    (e2e-ask)
    (e2e-blank)
    (e2e-thought)
    (with-current-buffer (find-file-noselect (concat e2e-root "shop/pricing.py")) (e2e-citation))
    (e2e-actions)
    (e2e-diagnostic server)
    (e2e-cancel server)
    (e2e-unsaved "unsaved-edit-counts" server)
    (e2e-changes)
    (e2e-mode-line server)
    (eglot-shutdown server)
    (e2e-check "shuts-down" (not (jsonrpc-running-p server)))))

;;; Winnow beside Eglot's server for the buffer; any server will do for that one

(setq-default eglot-workspace-configuration nil)
(setq winnow-command (append e2e-command (list :initializationOptions e2e-settings)))
(with-current-buffer (find-file-noselect (concat e2e-root "shop/checkout.py"))
  (let ((other (apply #'e2e-connect e2e-command)))
    (pcase-let ((`(,beg ,end) (e2e-region "cost > wallet_cents")))
      (e2e-publish other "unsupported operand types" beg end)
      (goto-char beg))
    (e2e-check "beside-explains-a-problem-of-the-other-server"
               (plist-get (e2e-asking (winnow-explain-problem)) :answer) e2e-outcome)
    (e2e-check "beside-leaves-the-buffer-to-the-other-server" (eq other (eglot-current-server)))
    (e2e-unsaved "beside-unsaved-edit-counts" (winnow--find))
    (eglot-shutdown (winnow--find))
    (e2e-check "beside-shuts-down-alone" (and (jsonrpc-running-p other) (null (winnow--find))))
    (e2e-restarted)
    (eglot-shutdown (winnow--find))
    (eglot-shutdown other)))

;;; e2e.el ends here
