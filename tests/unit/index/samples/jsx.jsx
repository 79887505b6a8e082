import React from 'react';

export function Button({ label, onClick }) {
  return <button onClick={onClick}>{label}</button>;
}

export default class Panel extends React.Component {
  state = { open: false };

  render() {
    return (
      <div>
        <Button label="open" onClick={() => this.setState({ open: true })} />
      </div>
    );
  }
}
