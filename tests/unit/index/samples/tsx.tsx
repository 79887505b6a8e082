import * as React from 'react';

interface Props {
  title: string;
  items: string[];
}

export const List: React.FC<Props> = ({ title, items }) => {
  const rows = items.map((item) => <li key={item}>{item}</li>);
  return (
    <section aria-label={title}>
      <ul>{rows}</ul>
    </section>
  );
};

export function useTitle(title: string): void {
  React.useEffect(() => {
    document.title = title;
  }, [title]);
}
