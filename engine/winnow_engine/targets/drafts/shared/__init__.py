"""What several draft methods are built from: no method is here."""
