package Shop::Cart;

use strict;
use parent 'Shop::Base';

our $VERSION = '1.0';

=head2 new

Makes a cart.

=cut

sub new {
    my ($class, %args) = @_;
    return bless { items => [] }, $class;
}

# The sum of all prices.
sub total {
    my $self = shift;
    return List::Util::sum(map { $_->price } @{ $self->{items} });
}

package Shop::Item {
    sub price { 1 }
}

1;

__END__

The rest is text.
