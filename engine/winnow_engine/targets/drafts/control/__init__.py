"""What stands between a draft method and the decode loop: no method is here."""
