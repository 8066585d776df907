import { Toast } from "@base-ui/react/toast";

const manager = Toast.createToastManager();

/** Shows a short confirmation, which screen readers announce. */
export const notify = (title: string): void => void manager.add({ title, timeout: 4000 });

const List = () =>
  Toast.useToastManager().toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className="toast">
      <Toast.Title className="toast-title" />
    </Toast.Root>
  ));

export const Toasts = () => (
  <Toast.Provider toastManager={manager}>
    <Toast.Portal>
      <Toast.Viewport className="toasts">
        <List />
      </Toast.Viewport>
    </Toast.Portal>
  </Toast.Provider>
);
